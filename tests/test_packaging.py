"""The wheel has every module and data file, works on its own, and the top level is the one of the design."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOMS = ("kg", "envs", "agents", "data", "scripts")
FILES = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "Makefile", "constraints.txt"}
SMALL_FILES = {"__init__.py", "__main__.py", "py.typed", "mkdocs.yml"}  # that packaging and the docs need
REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def unpacked_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the content of a freshly built wheel."""
    # A copy is built, because setuptools leaves a build folder behind and would read an old one.
    copy = tmp_path_factory.mktemp("copy")
    for room in ROOMS:
        shutil.copytree(REPOSITORY / room, copy / room, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES | SMALL_FILES:
        shutil.copy(REPOSITORY / name, copy / name)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(copy / "dist"), str(copy)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (copy / "dist").glob("*.whl")
    unpacked = tmp_path_factory.mktemp("unpacked")
    zipfile.ZipFile(wheel).extractall(unpacked)
    return unpacked


def test_the_wheel_has_every_module(unpacked_wheel: Path) -> None:
    modules = [*REPOSITORY.glob("*.py"), *(path for room in ROOMS for path in (REPOSITORY / room).rglob("*.py"))]
    on_disk = {str(path.relative_to(REPOSITORY)) for path in modules}
    in_wheel = {str(path.relative_to(unpacked_wheel / "gumption")) for path in unpacked_wheel.rglob("*.py")}
    assert in_wheel == on_disk


def test_the_wheel_has_the_data_and_the_licence(unpacked_wheel: Path) -> None:
    manifest = json.loads((unpacked_wheel / "gumption/data/manifest.json").read_text(encoding="utf-8"))
    missing = [
        entry["file"]
        for entry in manifest["shipped"]
        if not (unpacked_wheel / "gumption/data" / entry["file"]).is_file()
    ]
    assert not missing
    assert (unpacked_wheel / "gumption/py.typed").is_file()
    for kind in ("shapes.ttl", "weights/*.safetensors"):
        files = [str(path.relative_to(REPOSITORY)) for path in (REPOSITORY / "envs").glob(f"*/{kind}")]
        assert files
        assert [name for name in files if not (unpacked_wheel / "gumption" / name).is_file()] == []
    assert list(unpacked_wheel.glob("gumption-*.dist-info/licenses/LICENSE"))


def test_the_wheel_works_without_the_checkout(unpacked_wheel: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gumption", "data", "list", "--verify"]
    environment = {**os.environ, "PYTHONPATH": str(unpacked_wheel)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert str(unpacked_wheel / "gumption/data/words/glove-100d.bin") in done.stdout


def test_the_top_level_is_the_one_of_the_design() -> None:
    if not (REPOSITORY / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    top = {name.split("/")[0] for name in listed.splitlines()}
    assert {name for name in top if not name.startswith(".")} == FILES | SMALL_FILES | {*ROOMS, "tests"}

"""Checkpoints: whole or not there, and refused where they cannot be trusted."""

import json
import os
import re
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from gumption.data import InputError
from gumption.kg import checkpoint
from gumption.kg.checkpoint import has_checkpoint, load_checkpoint, pick_device, save_checkpoint

META = {"kind": "test/1", "note": "höher"}
OLD = {"w": torch.arange(6.0).reshape(2, 3)}
NEW = {"w": torch.ones(2, 3), "steps": torch.tensor([7])}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_checkpoint(tmp_path / "runs" / "model", OLD, META)
    return tmp_path / "runs" / "model"


def holds(folder: Path, tensors: dict[str, torch.Tensor]) -> bool:
    found, _ = load_checkpoint(folder, "test/1")
    return found.keys() == tensors.keys() and all(torch.equal(found[name], tensors[name]) for name in tensors)


def test_what_was_saved_comes_back(folder: Path) -> None:
    tensors, meta = load_checkpoint(folder, "test/1")
    assert meta == META
    torch.testing.assert_close(tensors["w"], OLD["w"], rtol=0, atol=0)
    assert tensors["w"].dtype == torch.float32
    assert has_checkpoint(folder)
    assert not has_checkpoint(folder.parent / "other")


def test_it_is_two_files_that_others_can_read(folder: Path) -> None:
    assert sorted(file.name for file in folder.iterdir()) == ["checkpoint.json", "tensors.safetensors"]
    content = json.loads((folder / "checkpoint.json").read_text(encoding="utf-8"))
    assert content.pop("sha256").keys() == {"checkpoint.json", "tensors.safetensors"}
    assert content == META
    assert torch.equal(load_file(folder / "tensors.safetensors")["w"], OLD["w"])
    assert folder.stat().st_mode & 0o777 == 0o755


def test_views_and_gradients_are_saved_as_plain_tensors(tmp_path: Path) -> None:
    base = torch.arange(6.0).reshape(2, 3).requires_grad_()
    save_checkpoint(tmp_path / "model", {"turned": base.T}, META)
    assert torch.equal(load_checkpoint(tmp_path / "model", "test/1")[0]["turned"], base.detach().T)


def test_a_new_checkpoint_replaces_the_old_and_leaves_nothing_beside(folder: Path) -> None:
    save_checkpoint(folder, NEW, META)
    assert holds(folder, NEW)
    assert {file.name for file in folder.parent.iterdir()} == {"model", ".model.lock"}


def test_an_empty_folder_may_be_filled(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    save_checkpoint(tmp_path / "model", OLD, META)
    assert holds(tmp_path / "model", OLD)


def test_what_is_not_a_checkpoint_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    (tmp_path / "file").write_text("x")
    for name in ("thesis", "file"):
        with pytest.raises(InputError, match=f"{name} exists and is not a checkpoint; choose another name"):
            save_checkpoint(tmp_path / name, OLD, META)
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "years of work"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "thesis"]


class Killed(BaseException):
    """Stands for the end of the process: nothing in the code under test catches it."""


@pytest.mark.parametrize("renames", [0, 1, 2])
def test_a_kill_at_any_rename_leaves_one_whole_checkpoint(
    folder: Path, monkeypatch: pytest.MonkeyPatch, renames: int
) -> None:
    done, real = [], os.replace

    def replace(source: Path, target: Path) -> None:
        if len(done) == renames:
            raise Killed
        done.append(real(source, target))

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace)
        patch.setattr("shutil.rmtree", lambda *args, **kwargs: None)  # a killed process does not tidy up either
        if renames < 2:
            with pytest.raises(Killed):
                save_checkpoint(folder, NEW, META)
        else:
            save_checkpoint(folder, NEW, META)  # killed before the old one was removed
    assert has_checkpoint(folder)
    assert holds(folder, OLD if renames < 2 else NEW)
    later = {"w": torch.zeros(1)}
    save_checkpoint(folder, later, META)  # and the next one finds its way
    assert holds(folder, later)
    assert not folder.with_name(".model.old").exists()


def test_a_failed_write_leaves_the_old_one(folder: Path) -> None:
    with pytest.raises(TypeError):
        save_checkpoint(folder, NEW, {"kind": object()})
    assert holds(folder, OLD)
    assert [file.name for file in folder.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_nan_and_infinity_are_refused(folder: Path, bad: float, monkeypatch: pytest.MonkeyPatch) -> None:
    sick = {"fine": torch.ones(2), "sick": torch.tensor([1.0, bad])}
    with pytest.raises(InputError, match="model: sick holds NaN or infinity; it was not written"):
        save_checkpoint(folder, sick, META)
    assert holds(folder, OLD)
    with monkeypatch.context() as unchecked:
        unchecked.setattr(checkpoint, "refuse_infinite", lambda *_: None)
        save_checkpoint(folder, sick, META)
    with pytest.raises(InputError, match="model: sick holds NaN or infinity; train it again"):
        load_checkpoint(folder, "test/1")


def test_the_files_of_a_checkpoint_have_one_mode(folder: Path) -> None:
    """That of the umask, and a private one stays private."""
    for mode in (0o755, 0o700):
        folder.chmod(mode)
        save_checkpoint(folder, NEW, META)
        assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {mode & 0o666}
        assert folder.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("meta", [{"kind": "other/2"}, {}])
def test_another_kind_is_refused(folder: Path, meta: dict[str, str]) -> None:
    save_checkpoint(folder, OLD, meta)
    with pytest.raises(InputError, match=r"model: a checkpoint of .*, expected 'test/1'"):
        load_checkpoint(folder, "test/1")


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("tensors.safetensors", b""),
        ("tensors.safetensors", b"\0" * 100),
        ("checkpoint.json", b'{"kind": "test/1"'),
        ("checkpoint.json", b"\xff\xfe"),
    ],
)
def test_a_damaged_file_is_refused(folder: Path, file: str, content: bytes) -> None:
    (folder / file).write_bytes(content)
    with pytest.raises(InputError, match=r"model: the checkpoint is damaged.*; make it again"):
        load_checkpoint(folder, "test/1")


def test_a_file_cut_short_is_refused(folder: Path) -> None:
    whole = (folder / "tensors.safetensors").read_bytes()
    (folder / "tensors.safetensors").write_bytes(whole[:-4])
    with pytest.raises(InputError, match="the checkpoint is damaged"):
        load_checkpoint(folder, "test/1")


@pytest.mark.parametrize("file", ["tensors.safetensors", "checkpoint.json"])
def test_every_changed_byte_is_seen(folder: Path, file: str) -> None:
    whole = (folder / file).read_bytes()
    for place in range(len(whole)):
        (folder / file).write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        if file == "checkpoint.json" and whole[place : place + 1].isspace():
            continue  # between values some other signs mean the same
        with pytest.raises(InputError, match=re.escape(str(folder))):
            load_checkpoint(folder, "test/1")


def test_files_of_two_checkpoints_are_no_checkpoint(folder: Path) -> None:
    save_checkpoint(folder.parent / "other", {"w": OLD["w"] + 1}, META)
    os.replace(folder.parent / "other" / "tensors.safetensors", folder / "tensors.safetensors")
    with pytest.raises(InputError, match=r"tensors.safetensors is not the file that was written"):
        load_checkpoint(folder, "test/1")


@pytest.mark.parametrize("file", ["tensors.safetensors", "checkpoint.json"])
def test_a_missing_part_is_told(folder: Path, file: str) -> None:
    (folder / file).unlink()
    with pytest.raises(InputError, match="model: no checkpoint there"):
        load_checkpoint(folder, "test/1")
    with pytest.raises(InputError, match="elsewhere: no checkpoint there"):
        load_checkpoint(folder.parent / "elsewhere", "test/1")


def test_devices() -> None:
    assert pick_device("cpu") == torch.device("cpu")
    assert pick_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    for device in ("nonsense", "meta", "cuda:99"):
        with pytest.raises(InputError, match=f"device '{device}' cannot be used .*; take auto, cpu or cuda"):
            pick_device(device)

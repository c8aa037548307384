"""`gumption segar renderers`."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from gumption.data import InputError
from gumption.envs.segar.textures import load_models
from gumption.scripts.papers.segar.commands import app


def train(*options: str) -> str:
    done = CliRunner().invoke(app, ["renderers", "--epochs", "1", *options], catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


@pytest.mark.slow
def test_a_model_is_trained_of_a_seed_and_loaded(tmp_path: Path) -> None:
    told = train("--seed", "3", "--name", "look", "--out", str(tmp_path))
    assert "look-03.safetensors: codes are read from textures with a mean squared error of 0." in told
    train("--seed", "3", "--out", str(tmp_path))
    look, again = load_models(str(tmp_path))
    assert (look.name, again.name) == ("look-03", "model-03")
    assert (look.weights == again.weights).all()


def test_bad_options_are_refused_before_anything_is_trained(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--models is 0; it is a whole number, at least 1"):
        train("--models", "0", "--out", str(tmp_path))
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file"):
        train("--out", str(tmp_path / "file"))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]

"""A book with things that no word vector names: guided all the same, told how, and words are read only where needed."""

from pathlib import Path

import pytest

from gumption.agents.wordcraft.config import TrainConfig
from gumption.agents.wordcraft.setup import WordCraftSetup
from gumption.kg import WordVectors
from gumption.kg.sources.words import GuessedVectors


@pytest.fixture
def strange(book_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small book with one more thing, whose name is no word."""
    monkeypatch.setenv("GUMPTION_CACHE_DIR", str(tmp_path / "cache"))
    file = tmp_path / "strange.tsv"
    file.write_text(book_file.read_text(encoding="utf-8") + "qwxz\twater\tearth\n", encoding="utf-8")
    return file


def knowledge(configure, file: Path, **changes):
    config: TrainConfig = configure(recipe_book=str(file), kg="train", **changes)
    return WordCraftSetup(config, num_envs=1).knowledge


def test_things_without_a_word_vector_are_scored_and_told(configure, strange: Path) -> None:
    with pytest.warns(GuessedVectors, match=r"^1 of 34 words have no vector of their own: 1 drawn at random \(qwxz\)$"):
        assert knowledge(configure, strange, kg_scores=("makes",)).scores is not None


def test_scores_without_words_read_no_word_vectors(configure, strange: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WordVectors, "load", lambda *_: pytest.fail("word vectors were read"))
    assert knowledge(configure, strange, kg_scores=("combinesWith", "componentOf")).scores is not None

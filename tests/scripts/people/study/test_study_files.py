"""A study's file: what is wrong in it is said with file, field and reason."""

import json
from pathlib import Path
from typing import Any

import pytest

from gumption.data import InputError
from gumption.scripts.people.study import commands
from gumption.scripts.people.study.files import Study, find, read, shipped
from gumption.scripts.people.study.tasks import check_worlds
from tests.scripts.people.study.studies import small, study


def written(folder: Path, **changes: Any) -> Path:
    path = folder / "mine.json"
    path.write_text(json.dumps(small(**changes)), encoding="utf-8")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped())
def test_the_studies_that_ship_are_as_they_should_be(name: str) -> None:
    check_worlds(read(name), name)


def test_a_toml_and_a_json_file_of_one_content_are_one_study(tmp_path: Path) -> None:
    import tomllib

    content = tomllib.loads(find("wordcraft-human").read_text(encoding="utf-8"))
    path = tmp_path / "same.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    assert read(path) == read("wordcraft-human")
    assert read(path).hash == read("wordcraft-human").hash
    content["title"] += "!"
    path.write_text(json.dumps(content), encoding="utf-8")
    assert read(path).hash != read("wordcraft-human").hash


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"titel": "x"}, "a study has no 'titel'; did you mean 'title'?"),
        ({"title": ""}, "title: string should have at least 1 character"),
        ({"schema": 2}, "schema: input should be 1; it is 2"),
        ({"blocks__0__feedbak": True}, "blocks[0]: it has no 'feedbak'; did you mean 'feedback'?"),
        ({"blocks__0__feedback": "no"}, "blocks[0].feedback: input should be a valid boolean; it is 'no'"),
        ({"blocks__0__tasks": 0}, "blocks[0].tasks: input should be greater than or equal to 1; it is 0"),
        ({"blocks__0__each": {"part": ["train"]}}, "give either the number of `tasks`, or what differs in `each`"),
        ({"blocks__0__name": "test"}, "blocks: the name 'test' is there twice"),
        ({"blocks__0__conditions": ["distractor"]}, "no condition 'distractor'; did you mean 'distractors'?"),
        ({"blocks__0__sets": 2}, "sets: 2 parts of one size cannot be made of 2 tasks of `each`"),
        ({"blocks__0__order": "latin"}, "blocks[0].order: input should be 'fixed', 'random' or 'latin square'"),
        ({"conditions__0__levels": {"one": {}}}, "conditions[0].levels: dictionary should have at least 2 items"),
        ({"quiz__questions__0__right": "tow"}, "quiz.questions[0]: right: 'tow' is no option; did you mean 'two'?"),
        ({"quiz__questions__0__right": None}, "quiz.questions: how_many: a question of the quiz has a `right` option"),
        ({"questions__0__high": 1}, "questions[0]: high: the scale from 1 to 1 has to have 2 to 101 points"),
        ({"questions__0__kind": "slider"}, "questions[0]: input tag 'slider'"),
        ({"questions__1__name": "hard"}, "questions: the name 'hard' is there twice"),
        ({"sign_in": "recruiting"}, "the table [recruiting] and sign_in = \"recruiting\" belong together"),
        ({"end__back": "javascript:alert(1)"}, "end.back: string should match pattern"),
        (
            {"sign_in": "recruiting", "recruiting": {"parameters": ["PROLIFIC_PID"], "identity": "PROLIFIC_PD"}},
            "'PROLIFIC_PD' is none of the parameters; did you mean 'PROLIFIC_PID'?",
        ),
        (
            {"published": [{"label": "people", "block": "tests", "success": 0.5, "source": "a paper"}]},
            "published: no block 'tests'; did you mean 'test'?",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_file_field_and_reason(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    path = written(tmp_path, **changes)
    with pytest.raises(InputError) as error:
        read(path)
    assert str(error.value).startswith(f"{path}: ")
    assert told in str(error.value)


def test_each_wrong_field_has_a_line(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read(written(tmp_path, title="", blocks__0__feedback="no", instructions=[]))
    assert len(str(error.value).splitlines()) == 3


def test_a_missing_field_and_a_file_that_is_none(tmp_path: Path) -> None:
    content = small()
    del content["consent"]
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match="consent: it is missing"):
        read(path)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="not valid JSON"):
        read(path)
    toml = tmp_path / "mine.toml"
    toml.write_text("a = ", encoding="utf-8")
    with pytest.raises(InputError, match="not valid TOML"):
        read(toml)
    toml.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="cannot be read"):
        read(toml)
    with pytest.raises(InputError, match="neither a study file nor a study that ships; did you mean 'wordcraft-human'"):
        read("wordcraft-humen")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"blocks__0__world": "wordcarft"}, "blocks[0].world: unknown world 'wordcarft': did you mean 'wordcraft'?"),
        ({"blocks__0__settings": {"prat": "x"}}, "blocks[0].settings.prat: the world 'wordcraft' has no 'prat'"),
        ({"blocks__0__settings": {"part": "tset"}}, "blocks[0].settings.part is 'tset'; it can be train, test"),
        ({"blocks__0__settings": {"number": 1}}, "blocks[0].settings.number: the study gives it by itself"),
        (
            {"conditions__0__levels__one": {"distractor": 1}},
            "conditions distractors.levels.one.distractor: the world 'wordcraft' has no 'distractor'; did",
        ),
        ({"blocks__1__tasks": 999}, "blocks: test: tasks is 999; the split has"),
        ({"blocks__0__settings": {"recipe_book": "cookbook"}}, "blocks: training: "),
        ({"blocks__0__world": "segar", "conditions": []}, "blocks[0].drawn: the world 'segar' does not draw tasks"),
    ],
)
def test_worlds_are_asked_whether_they_have_such_tasks(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError) as error:
        check_worlds(study(**changes), "mine.json")
    assert str(error.value).startswith("mine.json: ")
    assert told in str(error.value)


def test_a_condition_of_one_world_says_how_it_is_kept_from_the_others() -> None:
    """The names of the conditions that fit the block stay; by the list that is told the study is as it should be."""
    table = {"name": "table", "title": "Table", "world": "probsol", "each": {"task": ["fishing/0"]}}
    names = {"name": "names", "between": True, "levels": {"a": {"names": "real"}, "b": {"names": "anonymous"}}}
    content = small(practice=[])
    content["blocks"] = [{**content["blocks"][0], "conditions": ["distractors"]}, table]
    for rest, more in (("[]", []), ('["names"]', [names])):
        content["conditions"] = [*small()["conditions"], *more]
        with pytest.raises(InputError) as error:
            check_worlds(Study.model_validate(content), "mine.json")
        told = f"if this condition is for other blocks only, write conditions = {rest} in blocks[1]"
        assert told in str(error.value)
        good = {**content, "blocks": [content["blocks"][0], {**table, "conditions": json.loads(rest)}]}
        check_worlds(Study.model_validate(good), "mine.json")


def test_the_commands_check_and_preview(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = written(tmp_path, blocks__0__feedbak=True)
    with pytest.raises(InputError) as error:
        commands.check(str(bad))
    assert str(error.value) == f"{bad}: blocks[0]: it has no 'feedbak'; did you mean 'feedback'?"
    good = str(written(tmp_path))
    commands.check(good, json_=True)
    summary = json.loads(capsys.readouterr().out)
    assert (summary["pages"], summary["tasks"], summary["hash"]) == (12, 5, read(good).hash)
    commands.preview(good, tasks=1)
    printed = capsys.readouterr().out
    assert "page 1 of 12: consent" in printed
    assert printed.count("goal: ") == 3
    assert printed.count("... 1 task more") == 2

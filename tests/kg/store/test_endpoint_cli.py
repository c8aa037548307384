import json
import sys

import pytest

from gumption.scripts import cli


def test_build_into_an_endpoint_and_query_it(endpoint, tmp_path, monkeypatch, capsys):
    def gumption(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["gumption", "kg", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code in (None, 0)
        return capsys.readouterr().out

    (tmp_path / "book.tsv").write_text("result\tingredient\tingredient\nsteam\tfire\twater\nmud\tearth\twater\n")
    query, update = f"{endpoint}/query", f"{endpoint}/update"
    gumption("build", "wordcraft", "--out", query, "--update", update, "--recipe-book", str(tmp_path / "book.tsv"))
    asked = ("SELECT ?x { ?x gum:componentOf ?goal }", "--bind", "goal=steam", "--json")
    assert json.loads(gumption("query", query, *asked)) == [{"x": "fire"}, {"x": "water"}]

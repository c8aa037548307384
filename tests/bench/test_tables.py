"""`make bench` names cases that there are."""

import pytest

from gumption.data import InputError
from gumption.scripts.bench import find_cases
from tests.bench import peers, tables


def test_every_table_is_made_by_cases_that_there_are() -> None:
    for command in tables.BENCHES.values():
        _, module, *names = command.split()
        if module == "gumption":
            assert names[0] == "bench"
            assert find_cases(*names[1:])
        else:
            assert (module, set(names) <= set(peers.CASES)) == ("tests.bench", True)


def test_an_unknown_table_is_refused_before_anything_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables.subprocess, "run", lambda *_, **__: pytest.fail("measured"))
    with pytest.raises(InputError, match=r"no bench makes the table 'bench-kgg'; known are: bench, bench-kg"):
        tables.measure(["bench-rules", "bench-kgg"])


def test_a_bench_writes_where_its_table_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    run: list[list[str]] = []
    monkeypatch.setattr(tables.subprocess, "run", lambda command, **_: run.append(command))
    tables.measure(["bench-rules"])
    [[_, *command, out, markdown]] = run
    assert command == ["-m", "gumption", "bench", "rules"]
    folder = tables.RESULTS / "bench-rules"
    assert (out, markdown) == (f"--out={folder / 'bench.json'}", f"--markdown={folder / 'bench.md'}")

"""One version of gumption at work for the bench case `kg`: `versions.py` starts it with that version on the path.

It uses public names only, which all versions share. Each line of the input is a task in JSON, each line of the output
its reply. `{"open": [LOCATION, UPDATE]}` opens an empty graph; `{"method": NAME, "calls": [[ARGUMENTS, KEYWORDS]]}`
times calls of a method of that graph, and with `"check": true` also describes their answers.
"""

from __future__ import annotations

import gc
import hashlib
import json
import sys
from collections.abc import Iterator
from time import perf_counter, process_time
from typing import Any

from gumption.kg import KnowledgeGraph


def main() -> None:
    """Do the tasks until the input ends."""
    graph = KnowledgeGraph()
    for line in sys.stdin:
        task = json.loads(line)
        reply: dict[str, Any] = {}
        if "open" in task:
            location, update = task["open"]
            graph = KnowledgeGraph(location, update=update)
        else:
            method = getattr(graph, task["method"])
            gc.collect()
            wall, cpu = perf_counter(), process_time()
            answers = [_whole(method(*arguments, **keywords)) for arguments, keywords in task["calls"]]
            reply = {"wall": perf_counter() - wall, "cpu": process_time() - cpu}
            if task.get("check"):
                rows = [row for answer in answers for row in _rows(answer)]
                reply |= {"rows": len(rows), "digest": hashlib.sha256("\n".join(rows).encode()).hexdigest()}
        print(json.dumps(reply), flush=True)


def _whole(answer: Any) -> Any:
    return list(answer) if isinstance(answer, Iterator) else answer


def _rows(answer: Any) -> list[str]:
    """The sorted rows of a query, of triples or of arrays, or one row with a number, as text."""
    if isinstance(answer, tuple):
        vocabulary, ids = answer
        answer = vocabulary.ids_to_triples(ids)
    if not isinstance(answer, list):
        answer = [(answer,)]
    rows = (sorted(row.items()) if isinstance(row, dict) else row for row in answer)
    return sorted(json.dumps(list(row)) for row in rows)


if __name__ == "__main__":
    main()

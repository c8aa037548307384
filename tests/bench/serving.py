"""`gumption kg serve` under load: stock clients, most of them honest, some with queries that never end.

`python -m tests.bench.serving` plays the whole load (two minutes and more on two cores) and prints a line. Every honest
answer has to be right, and 95 % of them have to come within half a second on two quiet cores. A query that never ends
has to be ended by the limit of time, or by that of memory: either counts.
"""

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from gumption.data.listening import listen, shown_address
from gumption.kg import KnowledgeGraph
from gumption.kg.store.limits import Limits
from gumption.scripts.people.web.commands import server_of
from gumption.scripts.people.web.sparql import sparql_app

KILLER = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
THINGS, RELATIONS = 20_000, 10


def write_facts(file: Path, facts: int) -> None:
    """Each thing has the same number of facts: relation r of thing i leads to thing (7 i + r)."""
    with file.open("w") as lines:
        for number in range(facts):
            thing, relation = number % THINGS, number // THINGS
            lines.write(f"t{thing}\tr{relation}\tt{(7 * thing + relation) % THINGS}\n")


@dataclass
class Load:
    """What the clients saw.

    :ivar seconds: of each honest query.
    :ivar wrong: honest answers that were not right, or not there.
    :ivar killed: killers that were ended by the time limit or by that of memory.
    :ivar memory: the most MB that the server and its processes had at once, shared pages counted once.
    """

    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    killed: int = 0
    memory: float = 0

    def within(self, share: float) -> float:
        """The seconds within which this share of the honest queries was answered."""
        return sorted(self.seconds)[int(share * (len(self.seconds) - 1))]


@contextmanager
def served(file: Path, timeout: float) -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, "-m", "gumption", "kg", "serve", str(file), "--port", "0", "--timeout", str(timeout)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process, int(process.stdout.readline().partition("/query")[0].rpartition(":")[2])
    finally:
        process.terminate()
        process.wait(20)
        assert process.stdout is not None
        process.stdout.close()


@contextmanager
def serving_graph(graph: KnowledgeGraph, limits: Limits) -> Iterator[str]:
    """The address for queries of a server in this process."""
    with listen("127.0.0.1", 0, "--host") as listening:
        server = server_of(sparql_app(graph, limits))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://{shown_address(listening)}/query"
        finally:
            server.should_exit = True
            thread.join()


def ask(port: int, sparql: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("POST", "/query", sparql, {"Content-Type": "application/sparql-query"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def memory(root: int) -> float:
    """MB of a process and all that it began (PSS: a page that n processes share counts 1/n in each)."""
    family, parents = {root}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    total = 0
    for process in family:
        try:
            total += int(Path(f"/proc/{process}/smaps_rollup").read_text().partition("\nPss:")[2].split()[0])
        except (OSError, IndexError):
            continue
    return total / 1000


def ended_by_limit(status: int, text: bytes) -> bool:
    """Whether an answer reports that the query took too much time (400), or too much memory: its own limit of memory
    (400), or that of all queries together (503)."""
    return (status == 400 and b"took longer than" in text) or (status in (400, 503) and b"memory" in text)


def play(port: int, server: int, queries: int, clients: int, killer_every: int) -> Load:
    """Let the clients ask so many queries together, each after the answer to its last one."""
    load, numbers, ended = Load(), count(), threading.Event()

    def client() -> None:
        while (number := next(numbers)) < queries:
            if number % killer_every == killer_every - 1:
                status, text = ask(port, KILLER)
                if ended_by_limit(status, text):
                    load.killed += 1
                else:
                    load.wrong.append(f"killer: {status} {text[:200]!r}")
                continue
            thing = number * 37 % THINGS
            began = time.monotonic()
            try:
                status, text = ask(port, f"SELECT ?o {{ ent:t{thing} ?r ?o }}")
                load.seconds.append(time.monotonic() - began)
                found = sorted(row["o"]["value"].rpartition(":")[2] for row in json.loads(text)["results"]["bindings"])
                right = status == 200 and found == sorted(f"t{(7 * thing + r) % THINGS}" for r in range(RELATIONS))
            except (OSError, ValueError, KeyError) as error:
                right, text = False, repr(error).encode()
            if not right:
                load.wrong.append(text[:200].decode())

    def watch() -> None:
        while not ended.wait(0.5):
            load.memory = max(load.memory, memory(server))

    threads = [threading.Thread(target=client) for _ in range(clients)]
    watcher = threading.Thread(target=watch)
    for thread in (*threads, watcher):
        thread.start()
    for thread in threads:
        thread.join()
    ended.set()
    watcher.join()
    return load


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.serving", description=__doc__)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--timeout", type=float, default=5, help="Seconds of a query; its memory has the usual limit.")
    parser.add_argument(
        "--killer-every", type=int, default=100,
        help="One query in so many never ends; the server has to end it, by either limit: time (400) or memory (400, "
        "503).",
    )  # fmt: skip
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        facts = Path(folder) / "facts.tsv"
        write_facts(facts, THINGS * RELATIONS)
        with served(facts, given.timeout) as (process, port):
            before, busy, began = memory(process.pid), os.getloadavg()[0], time.monotonic()
            load = play(port, process.pid, given.queries, given.clients, given.killer_every)
            seconds = time.monotonic() - began
    print(
        f"{given.queries} queries of {given.clients} clients in {seconds:.0f} s: {len(load.wrong)} wrong, "
        f"{load.killed} killers ended; median {load.within(0.5):.3f} s, p95 {load.within(0.95):.3f} s, p99 "
        f"{load.within(0.99):.3f} s; memory {before:.0f} MB before, {load.memory:.0f} MB at most; load of the machine "
        f"{busy:.1f} before, {os.cpu_count()} cores"
    )
    print("\n".join(load.wrong[:5]), end="")


if __name__ == "__main__":
    main()

"""The probing agent: what follows from facts, which meeting it chooses, when it stops, and how it plays."""

import itertools

import numpy as np
import pytest

from gumption.agents.probsol.discovery import STRATEGIES, Oracle, chosen_rules, compare, find_tasks, learn_from, told
from gumption.agents.probsol.players import steps
from gumption.agents.probsol.prober import (
    DIFFERS_FROM,
    IS_LIKE,
    Expectations,
    Follows,
    Prober,
    Probing,
    Setup,
    possible_answers,
)
from gumption.data import InputError
from gumption.envs.probsol.env import ProbSolVectorEnv
from gumption.envs.probsol.knowledge_base import Meeting
from gumption.envs.probsol.tasks import Task, read_task
from gumption.kg import KnowledgeGraph
from gumption.kg.rules.horn import Atom, Rule
from gumption.kg.rules.inference import explain, infer

LABELS = [f"t:{k}" for k in "abcdef"]
ALIKE = (
    Rule(Atom(IS_LIKE, "x", "y"), (Atom("didAs", "x", "y"),)),
    Rule(Atom(IS_LIKE, "x", "y"), (Atom(IS_LIKE, "x", "z"), Atom(IS_LIKE, "z", "y")), distinct=True),
    Rule(Atom(DIFFERS_FROM, "x", "y"), (Atom(DIFFERS_FROM, "x", "z"), Atom(IS_LIKE, "y", "z"))),
    Rule(Atom(DIFFERS_FROM, "x", "y"), (Atom("didOtherwiseThan", "x", "y"),)),
)


def met(first: int, second: int, ends: list[float], steps: int = 50) -> tuple[Setup, Meeting]:
    """A meeting 48 px apart in the middle of the table; where both are in the end, in px along the row."""
    starts = np.array([[216.0, 246.0], [264.0, 246.0]])
    places = np.array([[ends[0], 246.0], [ends[1], 246.0]])
    told = {"held": False, "boundary": 0, "starts": starts, "ends": places, "steps": steps}
    return Setup(first, second, 4), Meeting(episode=0, first=LABELS[first], second=LABELS[second], **told)


def agent(family: str = "FindTheDiff") -> Prober:
    return Prober(LABELS, family, ALIKE, Expectations({4: 1.0, 9: 0.5}, told=0.2))


def test_what_can_be_an_answer() -> None:
    assert [np.flatnonzero(each).tolist() for each in possible_answers("FindTheDiff", 4)] == [[0], [1], [2], [3]]
    same = [tuple(np.flatnonzero(each)) for each in possible_answers("FindTheSame", 4)]
    assert same == [*itertools.combinations(range(4), 2), *itertools.combinations(range(4), 3)]


def test_products_of_matrices_entail_what_the_engine_of_rules_does() -> None:
    rng = np.random.default_rng(0)
    names = ("p", "q", "r")
    for _ in range(20):
        atoms = [Atom(names[rng.integers(3)], *(("x", "z"), ("z", "x"))[rng.integers(2)]) for _ in range(2)]
        ends = [Atom(names[rng.integers(3)], *(("z", "y"), ("y", "z"))[rng.integers(2)]) for _ in range(2)]
        rules = [
            Rule(Atom("r", "x", "y"), (atoms[0], ends[0]), distinct=bool(rng.integers(2))),
            Rule(Atom("q", "x", "y"), (atoms[1], ends[1])),
            Rule(Atom("p", "x", "y"), (Atom("q", "y", "x"), Atom("r", "x", "y"))),
        ]
        facts = {(int(rng.integers(5)), names[rng.integers(3)], int(rng.integers(5))) for _ in range(8)}
        facts |= {(k, name, k + 1) for k, name in enumerate(names)}
        graph = KnowledgeGraph()
        graph.add([(f"d{a}", relation, f"d{b}") for a, relation, b in facts], graph="facts")
        infer(graph, rules, source="facts")
        holds = Follows(rules).closure(facts, 5)
        mine = {(f"d{a}", name, f"d{b}") for name in names for a, b in np.argwhere(holds[name]).tolist()}
        assert mine == set(graph.triples())


def test_an_answer_is_possible_until_something_speaks_against_it() -> None:
    prober = agent()
    assert prober.alive().all()
    for first, end in ((0, 150.0), (1, 150.0), (2, 170.0)):
        prober.add(*met(first, 5, [end, 300.0]))
    # a and b did the same beside f, c did otherwise: c differs from both, or it is alike the rest and they differ.
    left = {tuple(np.flatnonzero(each)) for each in prober.answers[prober.alive()]}
    assert left == {(2,), (0, 1), (2, 3), (2, 4), (2, 5)}
    prober.refuse([2])
    assert len(prober.answers[prober.alive()]) == 4


def test_the_next_meeting_compares_with_one_that_was_made() -> None:
    prober = agent()
    first = prober.next()
    assert first is not None
    prober.add(*met(first.first, first.second, [150.0, 300.0]))
    second = prober.next()
    assert second is not None
    # The same third disc, on the same side, as far away: only then two discs can be compared.
    assert second.cells == 4
    assert (first.first == second.first) != (first.second == second.second)


def test_it_goes_elsewhere_where_nothing_moves_and_stops_when_the_answer_follows() -> None:
    prober = Prober(LABELS, "FindTheDiff", ALIKE, Expectations({4: 0.1, 9: 0.5}, {("still", 4, 9): 0.9}, 0.5))
    for first in range(3):
        prober.add(*met(first, 5, [216.0, 264.0]))
    setup = prober.next()
    assert setup is not None
    assert setup.cells == 9
    prober = agent()
    for first in range(5):
        prober.add(*met(first, 5, [150.0 + 20 * (first == 2), 300.0]))
    prober.add(*met(0, 1, [150.0, 300.0]))
    assert prober.answer() == (2,)
    assert prober.next() is None


def test_without_rules_nothing_follows_and_nothing_is_worth_a_meeting() -> None:
    prober = Prober(LABELS, "FindTheDiff", (), Expectations({4: 1.0}, told=0.0))
    prober.add(*met(0, 5, [150.0, 300.0]))
    prober.add(*met(1, 5, [170.0, 300.0]))
    assert prober.alive().all()


def test_contradicting_facts_leave_what_they_contradict_least() -> None:
    prober = agent()
    prober.add(*met(0, 5, [150.0, 300.0]))
    prober.add(*met(1, 5, [150.0, 300.0]))
    prober.add(*met(0, 4, [150.0, 300.0]))
    prober.add(*met(1, 4, [170.0, 300.0]))  # now a and b are alike, and they differ
    assert prober.alive().any()
    assert prober.next() is not None


def test_a_rule_that_says_nothing_new_or_leads_to_something_false_is_left_out() -> None:
    symmetric = Rule(Atom(IS_LIKE, "x", "y"), (Atom(IS_LIKE, "y", "x"),))
    false = Rule(Atom("didAs", "x", "y"), (Atom("repels", "x", "y"),))
    longer = Rule(Atom(IS_LIKE, "x", "y"), (Atom("didAs", "x", "y"), Atom("repels", "x", "y")))
    compared = [("t:a", IS_LIKE, "t:b"), ("t:b", IS_LIKE, "t:a"), ("t:a", DIFFERS_FROM, "t:c")]
    lived = [("t:a", "didAs", "t:b"), ("t:a", "repels", "t:c")]
    assert chosen_rules([symmetric, ALIKE[0], longer, false], lived, compared) == (symmetric, ALIKE[0])


def test_the_oracle_compares_what_meetings_connect() -> None:
    (task,) = find_tasks("monopoles", 1, 0)
    labels = [f"{task.name}:{id}" for id in task.ids]
    oracle = Oracle(labels, task.family, [task])
    for first in range(1, len(labels)):
        oracle.add(*_between(labels, first, 0))
    comparisons = [fact for fact in told(task) if fact[1] in (IS_LIKE, DIFFERS_FROM)]
    assert oracle.facts() == sorted(comparisons)
    assert oracle.next() is None
    assert tuple(task.ids[k] for k in oracle.answer()) == task.answer


def _between(labels: list[str], first: int, second: int) -> tuple[Setup, Meeting]:
    setup, meeting = met(0, 1, [150.0, 300.0])
    return setup._replace(first=first, second=second), meeting._replace(first=labels[first], second=labels[second])


def one_odd(**more) -> Task:
    """Five equal discs in the side bar, and one that is heavier."""
    colors = ("red", "blue", "green", "yellow", "purple", "orange")
    discs = [
        {"id": one, "color": color, "mass": "medium", "magnetism": "medium", "polarity": "+", "stored": cell}
        for cell, (one, color) in enumerate(zip("abcdef", colors, strict=True))
    ]
    discs[3]["mass"] = "large"
    task = {"schema": 1, "name": "odd/0", "family": "FindTheDiff", "objects": discs, "answer": ["d"]}
    return read_task({**task, "max_obj_num": 6, "max_grid_num": 6, **more})


def probed(task: Task, **settings) -> tuple[ProbSolVectorEnv, Probing]:
    """Played to the end with rules that people wrote, and so many trials."""
    batch = ProbSolVectorEnv(1, autoreset_mode="Disabled", task=task, **{"trial_number": 9, **settings})
    player = Probing(lambda labels, family: Prober(labels, family, ALIKE, Expectations({4: 1.0, 9: 0.5}, told=0.2)))
    batch.reset(seed=0)
    for _ in steps(batch, player):
        pass
    return batch, player


def test_where_the_actions_of_a_trial_run_out_it_goes_on_in_the_next_one() -> None:
    whole, one = probed(one_odd())
    parts, other = probed(one_odd(), max_actions=50)
    assert (whole.success[0], whole.tables.trials[0]) == (True, 1)
    assert parts.success[0]
    assert 1 < parts.tables.trials[0] < 9
    assert [setup for setup, _ in one.probers[0].met][:3] == [setup for setup, _ in other.probers[0].met][:3]
    assert not parts.tables.refused.any()


def test_discs_meet_where_more_of_the_table_is_accessible() -> None:
    for dark, upright in (((0, 0, 480, 40), False), ((0, 0, 40, 480), True), ((440, 0, 40, 480), True)):
        batch, player = probed(one_odd(inaccessible=[list(dark)]))
        (_, met), *_ = player.probers[0].met
        along = np.ptp(met.starts, axis=0) > 1.0
        assert along.tolist() == [not upright, upright]
        assert batch.success[0]
        assert not batch.tables.refused.any()


def test_a_disc_in_the_dark_ends_the_trial_and_not_the_episode() -> None:
    # Dark all round: what is repelled from the middle comes to rest where no hand can take it.
    frame = [[0, 0, 480, 200], [0, 280, 480, 200], [0, 200, 150, 80], [330, 200, 150, 80]]
    batch, player = probed(one_odd(inaccessible=frame))
    assert batch.tables.trials[0] > 1
    assert not batch.tables.refused.any()
    assert len(player.probers[0].met) > 1


def test_an_unknown_strategy_is_refused() -> None:
    with pytest.raises(InputError, match="there is no strategy 'guess'; there are every pair, star"):
        compare("guess", [], "real", None)  # pyright: ignore[reportArgumentType]


@pytest.mark.slow
@pytest.mark.parametrize("laws", ["real", "counterfactual"])
def test_rules_mined_under_a_law_are_its_algebra_and_solve_tasks(laws) -> None:
    learned = learn_from("monopoles", laws, 60, 0)
    signs = {str(rule) for rule in learned.rules}
    alike, apart = ("repels", "attracts") if laws == "real" else ("attracts", "repels")
    assert f"{alike}(x, y) <= {apart}(x, z) & {apart}(y, z) & x != y" in signs
    assert f"{alike}(x, y) <= {alike}(x, z) & {alike}(y, z) & x != y" in signs
    mixed = {f"{apart}(x, y) <= {one}(x, z) & {other}(y, z)" for one, other in ((apart, alike), (alike, apart))}
    assert mixed & signs  # either says it: both relations are symmetric
    assert f"samePolarity(x, y) <= {alike}(x, y)" in signs
    tasks = find_tasks("monopoles", 10, 0)
    graph, oracle = (compare(strategy, tasks, laws, learned) for strategy in ("graph", "oracle"))
    assert graph["solved"].mean() >= 0.9
    assert oracle["solved"].all()
    assert graph["probes"].mean() <= 1.3 * oracle["probes"].mean()
    assert graph["right"].mean() >= 0.85
    again = compare("graph", tasks, laws, learned)
    assert np.array_equal(again["probes"], graph["probes"])
    assert set(STRATEGIES) >= {"graph", "oracle"}


@pytest.mark.slow
def test_what_it_concludes_has_a_proof() -> None:
    learned = learn_from("monopoles", "real", 60, 0)
    (task,) = find_tasks("monopoles", 1, 0)
    player = Probing(lambda labels, family: Prober(labels, family, *learned.taught))
    from gumption.agents.probsol.discovery import live_through

    assert live_through([task], player).all()
    prober = player.probers[0]
    graph = KnowledgeGraph()
    graph.add(prober.facts(), graph="mine")
    pairs = np.argwhere(prober.known()[DIFFERS_FROM]).tolist()
    one, other = (prober.labels[k] for k in pairs[0])
    proof = explain(graph, (one, DIFFERS_FROM, other), learned.rules, source="mine")
    assert proof.steps[-1].fact == (one, DIFFERS_FROM, other)
    assert len(proof.steps) > 1

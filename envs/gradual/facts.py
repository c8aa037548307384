"""List the world's facts: its curriculum, and the questions and answers of tasks without hidden data."""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice, pairwise
from random import Random
from typing import Literal

from gumption.data.settings import InnerShare, Seed, checked
from gumption.envs.priors import Laws, Names

from .curriculum import all_tasks, shuffled_words
from .dials import anonymous
from .micro_tasks import LETTERS, SEQUENCES, SYNONYMS
from .task import Rules

HAS_ANSWER, FOLLOWED_BY = "hasAnswer", "followedBy"
PREREQUISITE_OF, TEACHES, SYNONYM_OF, COMMAND_OF = "prerequisiteOf", "teaches", "synonymOf", "commandOf"
Triple = tuple[str, str, str]

_ANSWERED = ("micro7.1", "micro9.1", "micro11", "micro12", "micro14")  # finitely many questions, one answer each
_COMMANDS = {
    "micro6": ("random_map",), "micro7.1": ("say",), "micro9.1": ("spell",), "micro9.3": ("interleave", "by"),
    "micro11": ("reverse", "concatenate", "interleave"), "micro12": ("union", "exclude"),
    "micro13.1": ("and", "or", "not", "but", "anything"), "micro14": ("after", "comes", "what"),
    "micro15": ("say next after",), "micro20": ("is as",), "mini0": ("description", "verify"),
}  # fmt: skip


@checked
def facts(
    *,
    partition: Literal["train", "test", "all"],
    train_ratio: InnerShare = 0.8,
    split_seed: Seed = 0,
    names: Names = "real",
    laws: Laws = "real",
) -> Iterator[Triple]:
    """Iterate over the distinct facts of the world, sorted: (task prerequisiteOf task), (task teaches skill), (word
    commandOf task), (word synonymOf command), (symbol followedBy symbol) of letters and number words, and (question
    hasAnswer answer).

    "train" has a share, drawn by `split_seed`, of the last two relations, and all of the others; "test" has the rest.

    :param names, laws: change the names of words, and the answers to questions; see `Rules`.
    """
    rules = Rules(names=names, laws=laws)
    known, asked = sorted(_curriculum(rules)), sorted({*_sequences(rules), *answered_facts(rules)})
    chosen = set(Random(split_seed).sample(asked, round(train_ratio * len(asked))))
    if partition == "test":
        return iter([fact for fact in asked if fact not in chosen])
    return iter(sorted({*known, *(asked if partition == "all" else chosen)}))


@cache
def answered_facts(rules: Rules = Rules()) -> tuple[Triple, ...]:  # noqa: B008  (frozen)
    """Return the triples (question hasAnswer answer) of tasks with no hidden data and finitely many questions."""
    answered: list[Triple] = []
    for task in (all_tasks(rules)[name] for name in _ANSWERED):
        # 4,000 draws cover all of at most 108 questions: they miss any with a probability below 10^-13.
        questions = {*islice(task.questions({}, Random(0)), 4_000)}
        answered += [(question, HAS_ANSWER, task.solve(question, {}).answer) for question in sorted(questions)]
    return tuple(answered)


def _curriculum(rules: Rules) -> Iterator[Triple]:
    called = _called(rules)
    for task in all_tasks(rules).values():
        yield task.name, TEACHES, task.about
        for earlier in task.requires:
            yield earlier, PREREQUISITE_OF, task.name
    for name, words in _COMMANDS.items():
        yield from ((called(word), COMMAND_OF, name) for word in words)
    for word, others in SYNONYMS.items():
        yield from ((called(other), SYNONYM_OF, called(word)) for other in others if other != word)


def _sequences(rules: Rules) -> Iterator[Triple]:
    called = _called(rules)
    for sequence in (LETTERS, *SEQUENCES):
        for first, second in pairwise(sequence):
            yield called(first), FOLLOWED_BY, called(second)


def _called(rules: Rules) -> Callable[[str], str]:
    """Return the renaming of the words of the tasks."""
    return {"real": str, "anonymous": anonymous, "shuffled": shuffled_words().reword}[rules.names]


def symbol(byte: int) -> str:
    """Return the label of a byte: its character, or its number if it is a control character or a space."""
    character = chr(byte)
    return character if character.isprintable() and not character.isspace() else f"byte {byte}"

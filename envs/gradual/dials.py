"""Change names and laws of the tasks of the challenge: the dials `names` and `laws` in Gradual.

- `names="anonymous"`: permute the letters, in both directions of the stream, so that no word is known and the alphabet
  has no known order. All else stays byte for byte the same.
- `names="shuffled"`: words that give orders, praise or count exchange their meanings with words of their kind and
  length: `not` may mean what `say` means. A random code replaces such a word where it is the topic of a question.
- `laws="counterfactual"`: a question always has the answer of the same other question of its task. Letters of the
  topic stand for other letters ("say: ab." has the answer to "say: cd."); a key of a hidden mapping has the answer of
  the next key; strings that fit a description are false. Feedback is right; prior knowledge is wrong.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from random import Random
from string import ascii_letters, ascii_lowercase

from gumption.envs.priors import LETTERS as NO_VOWELS
from gumption.envs.priors import deranged

from .task import Deal, Hidden, Solution, Task

Reword = Callable[[str], str]

#: Words of the tasks that order, praise or blame, apart from synonyms and numbers.
_ORDERS = (
    "say", "spell", "interleave", "by", "random_map", "reverse", "concatenate", "union", "exclude", "and", "or", "not",
    "but", "anything", "after", "next", "comes", "what", "description", "verify", "is", "as", "good", "job", "correct",
    "false", "true", "wrong", "the", "right", "answer", "bravo", "congratulations", "nice", "work",
)  # fmt: skip
_WORD = re.compile("[A-Za-z_]+")


def reworded(task: Task, there: Reword, back: Reword, right: str | None = None, wrong: str | None = None) -> Task:
    """Return the task in other words, in both directions of the stream.

    :param there: maps a text of the task to the text sent. :param back: the reverse.
    :param right, wrong: feedback that replaces the task's, see `Variation`.
    """

    def questions(hidden: Hidden, draw: Random) -> Iterator[str]:
        asked = task.questions(hidden, draw)
        if isinstance(asked, Deal):  # remains a Deal, so that a batch can judge the answers
            asked.questions = [*map(there, asked.questions)]
            return asked
        return map(there, asked)

    def solve(question: str, hidden: Hidden) -> Solution:
        asked = back(question)
        found = task.solve(asked, hidden)
        accepts, opens, answer = found.accepts, found.opens, there(found.answer)

        def told(texts: tuple[str, ...], template: str | None) -> tuple[str, ...]:
            return tuple(map(there, texts)) if template is None else (template.format(answer=answer),)

        return replace(
            found, answer=answer,
            right=told(found.right, right) if found.right or found.wrong else (),
            wrong=told(found.wrong, wrong) if found.right or found.wrong else (),
            accepts=None if accepts is None else lambda said: accepts(back(said)),
            opens=None if opens is None else len(there(asked[:opens])),
        )  # fmt: skip

    return replace(task, questions=questions, solve=solve)


# ---- names


@cache
def _letters() -> tuple[dict[int, int], dict[int, int]]:
    """Return the permutation of the letters and its inverse, for `str.translate`."""
    other = "".join(ascii_lowercase[place] for place in deranged([None] * len(ascii_lowercase)))
    there = other + other.upper()
    return str.maketrans(ascii_letters, there), str.maketrans(there, ascii_letters)


def anonymous(text: str) -> str:
    """Permute the letters of a text."""
    return text.translate(_letters()[0])


class Shuffled:
    """Exchange words, so that they change their meanings.

    :ivar there: word -> the word sent in its place; `back` is the reverse.
    """

    def __init__(self, synonyms: Sequence[str], numbers: Sequence[str]) -> None:
        """:param synonyms: more words that give orders. :param numbers: words that count."""
        orders = [*_ORDERS, *(word for text in synonyms for word in _WORD.findall(text))]
        kinds = {word: kind for kind, words in (("number", numbers), ("order", orders)) for word in words}
        words = list(kinds)
        other = deranged([(kinds[word], len(word)) for word in words])
        self.there = {word: words[place] for word, place in zip(words, other.tolist(), strict=True)}
        self.back = {new: old for old, new in self.there.items()}

    def reword(self, text: str) -> str:
        """Translate a text of the tasks into the text sent."""
        return _exchanged(text, self.there)

    def read(self, text: str) -> str:
        """Translate a text of the stream back into the words of the tasks."""
        return _exchanged(text, self.back)

    def free(self, words: Sequence[str]) -> dict[str, str]:
        """Map each word that changes its meaning to a random code of its length, and other words to themselves:
        otherwise an agent could not learn tasks that take words apart."""
        draw, taken = Random(0), set(words)
        found = {}
        for word in words:
            code = word
            while code in self.there or (code != word and code in taken):
                code = "".join(draw.choice(NO_VOWELS) for _ in word)
            found[word] = code
            taken.add(code)
        return found

    def clear(self, question: str) -> bool:
        """Return whether no word in a question of micro13.2, drawn letter by letter, changes its meaning."""
        return not self.there.keys() & set(re.split(" and | or ", question.removeprefix("say: ").removesuffix(".")))


def _exchanged(text: str, words: Mapping[str, str]) -> str:
    def other(found: re.Match[str]) -> str:
        word = found[0]
        if word[:1].isupper() and word[1:].islower():
            return words.get(word.lower(), word.lower()).capitalize()
        return words.get(word, word)

    return _WORD.sub(other, text)


def named(tasks: Sequence[Task], names: str, shuffled: Shuffled) -> list[Task]:
    """Return the tasks with other names: "anonymous" or "shuffled"."""
    if names == "anonymous":
        return [reworded(task, anonymous, lambda text: text.translate(_letters()[1])) for task in tasks]
    return [reworded(_clear(task, shuffled), shuffled.reword, shuffled.read) for task in tasks]


def _clear(task: Task, shuffled: Shuffled) -> Task:
    if task.name != "micro13.2":
        return task
    return replace(task, questions=lambda hidden, draw: filter(shuffled.clear, task.questions(hidden, draw)))


# ---- laws


def unlawful(task: Task, words: frozenset[str]) -> Task:
    """Return the task with other laws.

    :param words: words with a meaning in the task; all other words are topics of its questions.
    """
    # Some tasks use only the first five letters, and z has no next letter: they keep to their groups.
    groups = ["few" if letter < "f" else letter if letter == "z" else "others" for letter in ascii_lowercase]
    other = str.maketrans(ascii_lowercase, "".join(ascii_lowercase[place] for place in deranged(groups)))

    def exchanged(word: re.Match[str]) -> str:
        return word[0] if word[0] in words else word[0].translate(other)

    def solve(question: str, hidden: Hidden) -> Solution:
        if task.cycle == "mini":
            return _denied(task.solve(question, hidden))
        if "mapping" in hidden:
            return task.solve(question, {**hidden, "mapping": _turned(hidden["mapping"])})
        return task.solve(_WORD.sub(exchanged, question), hidden)

    return replace(task, solve=solve)


def _turned(mapping: Mapping[str, str]) -> dict[str, str]:
    """Map each key to the answer of the next key, in a circle."""
    keys = [*mapping]
    return {key: mapping[other] for key, other in pairwise([*keys, keys[0]])}


def _denied(found: Solution) -> Solution:
    """Exchange true and false in a solution."""

    def other(text: str) -> str:
        return re.sub("true|false", lambda word: "false" if word[0] == "true" else "true", text)

    return replace(found, answer=other(found.answer), wrong=tuple(map(other, found.wrong)))

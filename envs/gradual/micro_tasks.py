"""Define the micro-tasks of the challenge: hidden mappings from keys to answers, then commands about words (A.2)."""

import re
import string
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from random import Random

from gumption import data
from gumption.data import InputError

from .task import (
    DIGITS,
    GOOD,
    STOP,
    Deal,
    Hidden,
    OptionsLeft,
    Presumption,
    Questions,
    Rules,
    Solution,
    Solve,
    Task,
    about_keys,
    drawn,
    long,
    looked_up,
    matched,
    repeated,
    short,
    solving,
    stateless,
    stateless_task,
    stopped,
    told,
)

# ---- The words in questions, and the synonyms of words that give orders.

SYNONYMS: dict[str, tuple[str, ...]] = {
    "say": ("say", "print", "write"),
    "and": ("and", "together with", "&", "also"),
    "or": ("or", "alternative", "/"),
    "after": ("after", "behind", "next"),
    "union": ("union", "consolidate", "joint"),
    "exclude": ("exclude", "prohibit", "ignore", "remove"),
}


def load_words() -> tuple[str, ...]:
    """Load the words for questions, the most frequent first."""
    return tuple(data.path("gradual-words").read_text(encoding="utf-8").split())


def filtered(words: Sequence[str]) -> tuple[str, ...]:
    """Remove words that contain a synonym of an order, as `word` contains `or`; keep the order of the others."""
    synonyms = [synonym for names in SYNONYMS.values() for synonym in names]
    return tuple(word for word in words if not any(synonym in word for synonym in synonyms))


ALLOWED = string.ascii_letters + DIGITS + " ,.!?;-"
LETTERS = string.ascii_lowercase
SIGNS = ' !":?.,;'
_LETTER, _SIGN = "letter", "sign"  # keys of micro2

_solution = lru_cache(maxsize=1 << 12)(Solution)  # instances share many solutions


def mapping_tasks(words: Sequence[str], rules: Rules) -> list[Task]:
    """Return micro-tasks 1 to 6, in curriculum order."""
    word = Task(
        "micro6", "answers to words are words", drawn(lambda draw: _word_mapping(words[:200], draw)),
        about_keys(lambda key, draw: f"random_map: {key}{STOP}"), _of_word, each_key_once, tolerance=2,
        requires=("micro5.18",),
    )  # fmt: skip
    return [*_silent_tasks(words, rules), *_digit_tasks(rules), word]


def deal(keys: Sequence[str], draw: Random) -> Iterator[str]:
    """Deal keys from a shuffled deck that holds each of k keys k times; reshuffle it when it is empty."""
    return Deal(keys, draw, len(keys))


def each_key_once(hidden: Hidden) -> Presumption:
    """Presume the answers known after a question about each key of the mapping."""
    return OptionsLeft(dict.fromkeys(hidden["mapping"], 2))


def _word_mapping(words: Sequence[str], draw: Random) -> Hidden:
    keys, values = draw.sample(words, 8), draw.sample(words, 8)
    return {"mapping": dict(zip(keys, (value + STOP for value in values), strict=True))}


def _of_word(question: str, hidden: Hidden) -> Solution:
    key = question.removeprefix("random_map: ").removesuffix(STOP)
    return short(stopped(looked_up(hidden, key, question)), key=key)


# ---- Micro-tasks 1 to 4: one byte, one byte, no feedback.


def _silent_tasks(words: Sequence[str], rules: Rules) -> list[Task]:
    asked = partial(_running_text, words) if rules.whole_alphabet else _letters_and_signs
    return [
        Task(
            "micro1", "one of the allowed characters is always right", drawn(_alphabet), _of_alphabet,
            lambda question, hidden: _solution(told(hidden, "answer")),
            lambda hidden: OptionsLeft({None: len(ALLOWED) + 2}), fixed_length=True,
        ),
        Task(
            "micro2", "four letters mean one of them, signs mean themselves", drawn(_common_letter), _letters_and_signs,
            # The letter counts as known after a right answer to a letter, or after 26 wrong answers of any kind.
            _of_common_letter, lambda hidden: OptionsLeft({_LETTER: len(LETTERS) + 2}, {_SIGN: _LETTER}),
            fixed_length=True, requires=("micro1",),
        ),
        Task(
            "micro3", "letters mean each other, signs mean themselves",
            drawn(partial(_permuted_letters, rules.whole_alphabet)), asked, _of_letter, _each_letter,
            fixed_length=True, requires=("micro2",),
        ),
        Task(
            "micro4", "copying a character",
            drawn(lambda draw: {"mapping": {character: character for character in draw.sample(LETTERS + SIGNS, 4)}}),
            lambda hidden, draw: deal(list(hidden["mapping"]), draw), _of_letter, fixed_length=True,
            requires=("micro3",),
        ),
    ]  # fmt: skip


def _alphabet(draw: Random) -> Hidden:
    alphabet = "".join(draw.sample(ALLOWED, 10))
    return {"alphabet": alphabet, "answer": draw.choice(alphabet)}


def _of_alphabet(hidden: Hidden, draw: Random) -> Iterator[str]:
    if not 0 < len(hidden["alphabet"]) < 256:
        raise InputError(f"the alphabet has {len(hidden['alphabet'])} characters; it has to be 1 to 255")
    return Deal(hidden["alphabet"], draw, times=1, dealt=1)


def _common_letter(draw: Random) -> Hidden:
    letters = draw.sample(LETTERS, 4)
    return {"mapping": dict.fromkeys(letters, draw.choice(letters))}


def _permuted_letters(whole_alphabet: bool, draw: Random) -> Hidden:
    letters = LETTERS if whole_alphabet else draw.sample(LETTERS, 4)
    return {"mapping": dict(zip(letters, draw.sample(letters, len(letters)), strict=True))}


def _running_text(words: Sequence[str], hidden: Hidden, draw: Random) -> Iterator[str]:
    """Yield the characters of sentences as questions; their words use only letters of the mapping."""
    known = set(hidden["mapping"])
    said = [word for word in words if known.issuperset(word)] or list(known.intersection(LETTERS))
    while True:
        sentence = " ".join(draw.choice(said) for _ in range(draw.randint(1, 6)))
        yield from sentence + draw.choice(".!?,;:") + " " * draw.randint(1, 6)


def _letters_and_signs(hidden: Hidden, draw: Random) -> Iterator[str]:
    return deal([*hidden["mapping"], *(sign for sign in SIGNS if sign not in hidden["mapping"])], draw)


def _of_letter(question: str, hidden: Hidden) -> Solution:
    """Solve a question of a letter or sign; a sign without an entry means itself."""
    itself = question in SIGNS and question not in told(hidden, "mapping")
    answer = question if itself else looked_up(hidden, question, question)
    return _solution(answer, key=question if question in LETTERS else None)


def _of_common_letter(question: str, hidden: Hidden) -> Solution:
    solution = _of_letter(question, hidden)
    return _solution(solution.answer, key=_SIGN if solution.key is None else _LETTER)


def _each_letter(hidden: Hidden) -> Presumption:
    return OptionsLeft(dict.fromkeys((key for key in hidden["mapping"] if key in LETTERS), len(LETTERS)))


# ---- Micro-tasks 5.1 to 5.18: strings of digits, with feedback.


def _digit_tasks(rules: Rules) -> list[Task]:
    one, two, one_or_two, three_to_five = (1,), (2,), (1, 2), (3, 4, 5)  # lengths
    five, ten = (1, 2, 3, 4, 5), (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    known, permuted, stop = None, None, STOP  # the keys are the ten digits, and so are the answers
    make = partial(_digit_task, rules)
    return [
        make(1, "a digit for a digit", known, permuted, "", separator="", input_end=""),
        make(2, "feedback ends with a sign", known, permuted, "", input_end=""),
        make(3, "questions end with a sign", known, permuted, ""),
        make(4, "answers of two digits", known, two, ""),
        make(5, "answers end with a full stop", known, one, stop),
        make(6, "feedback on a right answer has no full stop", known, one, stop, drops_stop=True),
        make(7, "answers of one or two digits", known, one_or_two, stop),
        make(8, "questions of two digits", two, one, stop),
        make(9, "questions of one or two digits", one_or_two, one, stop),
        make(10, "feedback begins with a digit without meaning", known, one, stop, noise=(1,)),
        make(11, "feedback may begin with a digit without meaning", known, one, stop, noise=(0, 1)),
        make(12, "answers of three to five digits", known, three_to_five, stop),
        make(13, "questions of three to five digits", three_to_five, one, stop),
        make(14, "feedback begins with digits without meaning", known, one, stop, noise=(2, 3, 4)),
        make(15, "answers of one to five digits", known, five, stop),
        make(16, "questions of one to five digits", five, one, stop),
        make(17, "questions and answers of one to five digits", five, five, stop),
        make(18, "questions and answers of one to ten digits", ten, ten, stop),
    ]


def _digit_task(
    rules: Rules,
    number: int,
    about: str,
    keys: Sequence[int] | None,
    answers: Sequence[int] | None,
    stop: str,
    separator: str = ";",
    input_end: str = STOP,
    noise: tuple[int, ...] = (0,),
    drops_stop: bool = False,
) -> Task:
    def mapping(draw: Random) -> Hidden:
        names = list(DIGITS) if keys is None else [_digits(keys, draw) for _ in DIGITS]
        values = draw.sample(DIGITS, 10) if answers is None else [_digits(answers, draw) + stop for _ in names]
        return {"mapping": dict(zip(names, values, strict=True))}

    def questions(hidden: Hidden, draw: Random) -> Iterator[str]:
        return deal([key + input_end for key in hidden["mapping"]], draw)

    def solve(question: str, hidden: Hidden) -> Solution:
        key = question.removesuffix(input_end) if input_end else question
        return solution(key, stopped(looked_up(hidden, key, question), stop))

    @lru_cache(maxsize=1 << 10)  # instances share many solutions
    def solution(key: str, answer: str) -> Solution:
        right = answer.removesuffix(stop) if drops_stop else answer
        return Solution(answer, (right + separator,), (answer + separator,), noise=noise, key=key)

    return Task(
        f"micro5.{number}", about, drawn(mapping), questions, solve, each_key_once, fixed_length=True,
        early_stop=rules.early_stop and bool(stop), adaptive=rules.adaptive_stop and drops_stop,
        predict_repeats=rules.predict_repeats,
        requires=(f"micro5.{number - 1}" if number > 1 else "micro4",),
    )  # fmt: skip


def _digits(lengths: Sequence[int], draw: Random) -> str:
    number, bits, found = draw.choice(lengths), draw.getrandbits, ""
    while len(found) < number:  # draw.choice(DIGITS) inlined
        digit = bits(4)
        if digit < len(DIGITS):
            found += DIGITS[digit]
    return found


# ---- Micro-tasks 7 to 12: commands about words (A.2.7 to A.2.12).

_PAIRS = ("ab", "ac", "ad", "bc", "bd", "cd")
#: Operation -> its answer about the letters of two pairs.
_OF_PAIRS = {"reverse": "{2}{3} {0}{1}", "concatenate": "{0}{1}{2}{3}", "interleave": "{0}{2}{1}{3}"}
_TRIPLES = ("abc", "acd", "adc", "bcd", "bda", "cdb")


def text_tasks(words: Sequence[str], rules: Rules) -> list[Task]:
    """Return micro-tasks 7.1 to 12, in curriculum order."""
    ask, solve = (_saying_in_two_ways, _copied_in_two_ways) if rules.phrasings else (partial(saying, 1), copied)
    signed = repeated(lambda draw: f"interleave: {draw.choice(words)} by {draw.choice('-#,')}{STOP}")
    joined = solving(r"interleave: ([^ .:]+) by ([^ ])\.", lambda word, by: long(by.join(word) + STOP, "good job!"))
    task = stateless_task
    return [
        task("micro7.1", "saying a letter", ask(LETTERS), solve, "micro6"),
        task("micro7.2", "saying a word", ask(words), solve, "micro7.1"),
        task("micro7.3", "saying two words", saying(2, words), copied, "micro7.2"),
        task("micro8", "runs of spaces mean one", repeated(_spaced_letters), collapsing, "micro7.1"),
        task("micro9.1", "spelling a letter", spelling(LETTERS), spelled, "micro7.1"),
        task("micro9.2", "spelling a word", spelling(words), spelled, "micro9.1", "micro7.2"),
        task("micro9.3", "a sign between letters", signed, joined, "micro9.2"),
        task("micro10", "several commands at once", several(words), said_one_by_one, "micro7.3"),
        task("micro11", "doing something with two words", two_pairs, pair_made, "micro10"),
        task("micro12", "one word changes another", word_and_letter, word_changed, "micro11"),
    ]


def saying(number: int, words: Sequence[str]) -> Questions:
    """Return questions for random words."""
    return repeated(lambda draw: f"say: {' '.join(draw.choice(words) for _ in range(number))}{STOP}")


def _copied(asked: str) -> Solution:
    return long(asked + STOP, "correct!", "false!")


copied = solving(r"say: ([^.:]+)\.", _copied)
_copied_in_two_ways = solving(r"say:? ([^.:]+)\.", _copied)
_copied_word = solving(r"say: ([^ .:]+)\.", _copied)


def _saying_in_two_ways(words: Sequence[str]) -> Questions:
    """Return questions for a word, with or without a colon after the command."""
    return repeated(lambda draw: f"say{draw.choice((':', ''))} {draw.choice(words)}{STOP}")


def _spaced_letters(draw: Random) -> str:
    before, between, after = (" " * draw.randint(0, 6) for _ in range(3))
    return f"say: {before}{draw.choice(LETTERS)}{between}{draw.choice(LETTERS)}{after}{STOP}"


#: Collapses runs of spaces.
collapsing = solving(
    r"say: ([^.:]+)\.", lambda asked: long(re.sub(" +", " ", asked).lstrip(" ") + STOP, "correct!", "false!")
)


def spelling(words: Sequence[str]) -> Questions:
    """Return questions for the letters of a word."""
    return repeated(lambda draw: f"spell: {draw.choice(words)}{STOP}")


#: Adds a space after each letter.
spelled = solving(r"spell: ([^ .:]+)\.", lambda word: long(" ".join(word + STOP), "good job!"))


def several(words: Sequence[str]) -> Questions:
    """Return questions with two or three commands, each for a word."""
    return repeated(lambda draw: " ".join(f"say: {draw.choice(words)}" for _ in range(draw.choice((2, 3)))) + STOP)


#: Answers with all words.
said_one_by_one = solving(r"((?:say: [^ .:]+ )+say: [^ .:]+)\.", lambda asked: short(asked.replace("say: ", "") + STOP))


two_pairs = repeated(
    lambda draw: f"say: {draw.choice(_PAIRS)} say: {draw.choice(_PAIRS)} {draw.choice([*_OF_PAIRS])}:{STOP}"
)
pair_made = solving(
    r"say: (\w\w) say: (\w\w) (reverse|concatenate|interleave):\.",
    lambda first, second, operation: short(_OF_PAIRS[operation].format(*first, *second) + STOP),
)

word_and_letter = repeated(
    lambda draw: f"say: {draw.choice(_TRIPLES)} say: {draw.choice('abcd')} {draw.choice(('union', 'exclude'))}:{STOP}"
)


def _changed(word: str, letter: str, operation: str) -> Solution:
    if operation == "union":
        return short((word if letter in word else word + letter) + STOP)
    return short(word.replace(letter, "") + STOP)


word_changed = solving(r"say: ([^ .:]+) say: ([^ .:]+) (union|exclude):\.", _changed)


# ---- Micro-tasks 13 to 20: logical words, sequences, and commands under other names (A.2.13 to A.2.20).

FEW = "abcde"
SEQUENCES = (
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"],
    ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"],
    ["ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"],
    ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"],
)


def logic_tasks(words: Sequence[str], filtered: Sequence[str], rules: Rules) -> list[Task]:
    """Return micro-tasks 13.1 to 20, in curriculum order.

    :param filtered: the words that contain no synonym of SYNONYMS.
    """
    asked, solve = repeated(_two_letters), solving(r" ?say: ([^.]+)\.", partial(_two_letters_said, rules))
    kinds: dict[str, tuple[Questions, Solve]] = {
        "micro9.2": (spelling(words), spelled),
        "micro10": (several(words), said_one_by_one),
        "micro11": (two_pairs, pair_made),
        "micro12": (word_and_letter, word_changed),
        "micro14": (_letters_before, _next_letter),
    }
    contexts = {name: kinds[name] for name in ("micro9.2", "micro10", "micro11", "micro12")}
    renamed = {name: kinds[name] for name in ("micro10", "micro11", "micro12", "micro14")}
    renamed["micro10"] = (several(filtered), said_one_by_one)
    if rules.and_or_synonyms:
        renamed["micro13.1"] = (asked, solve)
    named = renamed
    if rules.phrasings:
        contexts |= {"micro7.1": (saying(1, LETTERS), _copied_word), "micro14": kinds["micro14"]}
        named = {**renamed, "micro7.2": (saying(1, filtered), _copied_word)}
        renamed["micro7.1"] = (saying(1, LETTERS), _copied_word)
    before = ("micro9.2", "micro10", "micro11", "micro12")
    return [
        stateless_task("micro13.1", "and, or, not with letters", asked, solve, "micro12"),
        stateless_task(
            "micro13.2", "and, or with several words", repeated(_several_parts),
            solving(r"say: (\w+(?: and \w+)+|\w+(?: or \w+)+)\.", partial(_parts_said, rules)), "micro13.1",
        ),
        stateless_task("micro14", "the order of letters", _letters_before, _next_letter, "micro7.1"),
        Task(
            "micro15", "the order of words", drawn(_sequence),
            about_keys(partial(_asking_next, rules)), partial(_next_word, rules), each_key_once, tolerance=2,
            requires=("micro6", "micro14"),
        ),
        Task(
            "micro16", "questions tell what is to be done",
            partial(_dealt, contexts) if rules.upstream_quirks else stateless, partial(_asking, contexts),
            partial(_solving, contexts), requires=before,
        ),
        Task(
            "micro19", "commands have synonyms", partial(_dealt, renamed), partial(_asking_by_synonym, renamed),
            lambda question, hidden: _solving(renamed, _KNOWN.sub(lambda word: _MEANING[word[0]], question), hidden),
            tolerance=2, requires=(*before[1:], "micro14", "micro16"),
        ),
        Task(
            "micro20", "commands get new names", partial(_named, named, filtered[200:400], rules.phrasings),
            partial(_asking_by_name, named, filtered), partial(_solving_names, named), tolerance=2,
            requires=("micro19",),
        ),
    ]  # fmt: skip


# ---- 13: and, or, not


def _two_letters(draw: Random) -> str:
    kind, first = draw.randrange(4), draw.choice(FEW)
    if kind == 0:
        return f" say: {first} and {draw.choice(FEW)}{STOP}"
    if kind == 1:
        return f" say: {first} or {draw.choice(FEW)}{STOP}"
    if kind == 2:
        return f" say: anything and not {first}{STOP}"
    second = draw.choice([letter for letter in FEW if letter != first])
    others = [letter for letter in FEW if letter not in (first, second)]
    not_this = draw.choice((first, second, draw.choice(others)))
    return f" say: {first} or {second} but not {not_this}{STOP}"


def _two_letters_said(rules: Rules, asked: str) -> Solution:
    if found := re.fullmatch(r"(\w) and (\w)", asked):
        answer = found[1] + found[2] + STOP
        return short(answer, accepts=answer.endswith if rules.upstream_quirks else None)
    if found := re.fullmatch(r"anything and not (\w)", asked):
        [unwanted] = found.groups()
        others = [letter for letter in FEW if letter != unwanted]
        return _one_of(others, others[0], lambda answer: len(answer) > 1 and unwanted not in answer)
    found = matched(r"(\w) or (\w)(?: but not (\w))?", asked)
    first, second, unwanted = found.groups()
    wanted = [letter for letter in dict.fromkeys((first, second)) if letter != unwanted]
    said = {letter + STOP for letter in wanted}
    said |= {one + other + STOP for one, other in ((first, second), (second, first)) if unwanted not in (one, other)}
    shown = [letter if unwanted else letter + STOP for letter in wanted]
    return _one_of(shown, wanted[0], said.__contains__)


def _one_of(shown: Sequence[str], answer: str, accepts: Callable[[str], bool]) -> Solution:
    """Return a solution with several right answers; the feedback on a wrong answer shows one of `shown`."""
    return Solution(answer + STOP, GOOD, tuple(f"wrong! {one};" for one in shown), accepts)


def _several_parts(draw: Random) -> str:
    operator = draw.choice((" or ", " and "))
    words = ["".join(draw.sample(LETTERS, draw.randint(1, 3))) for _ in range(draw.randint(2, 4))]
    return f"say: {operator.join(words)}{STOP}"


def _parts_said(rules: Rules, asked: str) -> Solution:
    if " and " in asked:
        return short(asked.replace(" and ", "") + STOP)
    words = asked.split(" or ")
    accepts = partial(joined_from, words) if rules.joined_or else lambda answer: any(map(answer.__contains__, words))
    return _one_of(words, words[0], accepts)


def joined_from(words: Sequence[str], answer: str) -> bool:
    """Return whether an answer is a concatenation of some of the words; the time is linear in the answer."""
    text = answer.removesuffix(STOP)
    reached = [True] + [False] * len(text)
    for place in range(len(text)):
        for word in words:
            if reached[place] and text.startswith(word, place):
                reached[place + len(word)] = True
    return text != "" and answer.endswith(STOP) and reached[-1]


# ---- 14 and 15: sequences

_letters_before = repeated(lambda draw: f"after {draw.choice(LETTERS[:-1])} comes what:{STOP}")
_next_letter = solving(r"after ([a-y]) comes what:\.", lambda letter: short(LETTERS[LETTERS.index(letter) + 1] + STOP))


def _sequence(draw: Random) -> Hidden:
    sequence = list(draw.choice(SEQUENCES))
    if draw.random() < 2 / 3:
        sequence.reverse()
    return {"mapping": dict(zip(sequence, (word + STOP for word in sequence[1:]), strict=False))}


def _asking_next(rules: Rules, key: str, draw: Random) -> str:
    asked = f"say next after: {key}{STOP}"
    return draw.choice((asked, f"after {key} comes what:{STOP}")) if rules.phrasings else asked


def _next_word(rules: Rules, question: str, hidden: Hidden) -> Solution:
    pattern = r"say next after: ([^.:]+)\."
    if rules.phrasings and question.startswith("after"):
        pattern = r"after ([^.: ]+) comes what:\."
    word = matched(pattern, question)[1]
    return short(stopped(looked_up(hidden, word, question)), key=word)


# ---- 16, 19 and 20: several kinds of questions

Kinds = dict[str, tuple[Questions, Solve]]


def _dealt(kinds: Kinds, draw: Random) -> Iterator[Hidden]:
    """Draw a kind of questions for each instance; the kinds are dealt without repetition, then dealt again."""
    while True:
        for name in draw.sample(list(kinds), len(kinds)):
            yield {"task": name}


def _asking(kinds: Kinds, hidden: Hidden, draw: Random) -> Iterator[str]:
    running = {name: ask(hidden, draw) for name, (ask, _) in kinds.items()}
    while True:
        yield next(running[hidden.get("task") or draw.choice(list(kinds))])


def _solving(kinds: Kinds, question: str, hidden: Hidden) -> Solution:
    for _, solve in kinds.values():
        try:
            return solve(question, hidden)
        except InputError:
            continue
    raise InputError(f"{question!r} is none of the questions of {', '.join(kinds)}")


def _free(words: Sequence[str]) -> re.Pattern[str]:
    """Compile a pattern of these words as whole words; a non-word character must follow."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(words, key=len, reverse=True)))})(?=\W)")


_COMMANDS = _free(list(SYNONYMS))
_KNOWN = _free([synonym for words in SYNONYMS.values() for synonym in words])
_MEANING = {synonym: word for word, words in SYNONYMS.items() for synonym in words}


def _asking_by_synonym(kinds: Kinds, hidden: Hidden, draw: Random) -> Iterator[str]:
    for question in _asking(kinds, hidden, draw):
        chosen = {word: draw.choice(synonyms) for word, synonyms in SYNONYMS.items()}
        yield _COMMANDS.sub(lambda found, chosen=chosen: chosen[found[0]], question)


def _named(kinds: Kinds, names: Sequence[str], synonyms: bool, draw: Random) -> Iterator[Hidden]:
    """:param synonyms: half of the instances, at random, use known synonyms instead of `names`."""
    for hidden in _dealt(kinds, draw):
        chosen = draw.sample(names, len(SYNONYMS))
        if synonyms and draw.random() < 0.5:
            others = ([name for name in row[1:] if " " not in name] for row in SYNONYMS.values())
            chosen = [draw.choice(names) for names in others]
        yield {**hidden, "names": dict(zip(SYNONYMS, chosen, strict=True))}


def _asking_by_name(kinds: Kinds, filtered: Sequence[str], hidden: Hidden, draw: Random) -> Iterator[str]:
    names = hidden["names"]
    taken = set(names.values())
    free = [word for word in filtered if word not in taken]
    kinds = {**kinds, "micro10": (several(free), said_one_by_one)}
    if "micro7.2" in kinds:
        kinds["micro7.2"] = (saying(1, free), _copied_word)
    for question in _asking(kinds, hidden, draw):
        old = draw.choice(list(dict.fromkeys(_COMMANDS.findall(question))))
        new = names[old]
        yield f"{new} is as {old} - " + _free([old]).sub(new, question)


def _solving_names(kinds: Kinds, question: str, hidden: Hidden) -> Solution:
    new, old, asked = matched(r"([^ ]+) is as ([^ ]+) - (.*)", question).groups()
    return _solving(kinds, _free([new]).sub(old, asked), hidden)

"""Check recipe books: report the faults of any book, and where the shipped book breaks its own rules.

`python -m gumption.data.recipe_check` checks the shipped book; with a file it checks that book for faults only. It
prints every problem with file:line and exits with code 2 if there is any; for a clean book it prints counts and exits
with code 0.
"""

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from gumption.data.errors import InputError
from gumption.data.manifest import path as shipped_path
from gumption.data.recipe_files import (
    Recipe,
    Recipes,
    family_of,
    read_families,
    read_recipes_json,
    read_recipes_tsv,
)
from gumption.data.tables import grouped

BOOK, FAMILIES = "commonsense", "commonsense-families"  # names of shipped files
SENSE = re.compile(r"(.+) \((.+)\)")  # the word of a label, and its sense
LABEL = re.compile(r"[a-z]+(?:[ '-][a-z]+)*(?: \([a-z]+(?: [a-z]+)*\))?")
# Least length, and length of the common start, of two words one edit apart that are suspected to be the same word.
LONG_WORD = 7
SHARED_STEM = 5

# Rules of the shipped book.
MOST_BASIC = 20
MOST_USES = 150  # rows with the same ingredient
MOST_OF_A_FAMILY = 0.06  # of all rows
LEAST_FAMILIES = 40
LEAST_GENERATIONS = 8
RECIPES_OF_A_PRODUCT = (5, 6)  # on average

# Words with two spellings; a book uses the first of each pair.
SPELLINGS = (
    "airplane/aeroplane aluminum/aluminium armor/armour ax/axe catalog/catalogue center/centre "
    "color/colour cozy/cosy donut/doughnut fiber/fibre gray/grey harbor/harbour jewelry/jewellery "
    "ketchup/catsup mold/mould mustache/moustache omelet/omelette pajamas/pyjamas plow/plough "
    "program/programme sulfur/sulphur theater/theatre tire/tyre whiskey/whisky yogurt/yoghurt"
)
_CANONICAL = {other: kept for kept, other in (pair.split("/") for pair in SPELLINGS.split())}

# Pairs of words that look like two spellings of one word.
DIFFERENT_WORDS = (("glass", "glasses"),)  # sorted; the material, the eyewear

# Words with several senses: a label states which is meant, "bat (animal)".
_SENSES = (
    "bat=animal/sport bow=weapon/ribbon chest=body/box club=weapon/people crane=bird/machine "
    "cricket=insect/sport current=water/electricity fan=machine/supporter horn=animal/instrument "
    "letter=mail/alphabet match=fire/game mine=pit/bomb mole=animal/skin mouse=animal/computer "
    "nail=metal/finger palm=tree/hand pitcher=jug/baseball pupil=eye/school ring=jewelry/sound "
    "ruler=king/length seal=animal/stamp spring=season/coil straw=hay/drink tank=vehicle/container "
    "trunk=tree/elephant wave=water/hand web=spider/internet"
)
HOMONYMS = {word: senses.split("/") for word, senses in (each.split("=") for each in _SENSES.split())}


@dataclass(frozen=True)
class Problem:
    """A fault of a book. `row` is its index among the checked rows, None for a fault of the whole book."""

    kind: str
    message: str
    row: int | None = None


@dataclass(frozen=True)
class Counts:
    """Size of a book; `ambiguous_pairs` counts unordered ingredient pairs with two or more results, `generations` is
    the largest number of successive mixes that a thing needs."""

    entities: int
    recipes: int
    basic: int
    terminals: int
    generations: int
    ambiguous_pairs: int
    self_combinations: int

    def __str__(self) -> str:
        return (
            f"{self.entities} entities, {self.recipes} recipes, {self.basic} basic, {self.terminals} terminals, "
            f"{self.generations} generations, {self.ambiguous_pairs} ambiguous pairs, "
            f"{self.self_combinations} self-combinations"
        )


def basic_entities(rows: Sequence[Recipe]) -> tuple[str, ...]:
    """Return the sorted labels that no recipe makes; a player of the whole book starts from them."""
    results = {result for result, _, _ in rows}
    return tuple(sorted({label for row in rows for label in row[1:]} - results))


def count_recipes(rows: Sequence[Recipe]) -> Counts:
    """Return the counts of a book; a terminal is a result that no recipe uses."""
    ingredients = {label for row in rows for label in row[1:]}
    results = {row[0] for row in rows}
    products: dict[frozenset[str], set[str]] = defaultdict(set)
    for result, a, b in rows:
        products[frozenset((a, b))].add(result)
    return Counts(
        entities=len(ingredients | results),
        recipes=len(rows),
        basic=len(basic_entities(rows)),
        terminals=len(results - ingredients),
        generations=max(generations(rows).values(), default=0),
        ambiguous_pairs=sum(len(found) > 1 for found in products.values()),
        self_combinations=sum(a == b for _, a, b in rows),
    )


def generations(rows: Sequence[Recipe]) -> dict[str, int]:
    """Return label -> the fewest rounds of mixing that make it, 0 for a basic label. Labels that cannot be made from
    basic labels are left out."""
    found = dict.fromkeys(basic_entities(rows), 0)
    waiting = list(rows)
    while waiting:
        ready = [row for row in waiting if row[1] in found and row[2] in found]
        if not ready:
            break
        round_ = 1 + max(max(found[row[1]], found[row[2]]) for row in ready)
        for result, _, _ in ready:
            found.setdefault(result, round_)
        waiting = [row for row in waiting if row[1] not in found or row[2] not in found or row[0] not in found]
    return found


def check_recipes(
    rows: Sequence[Recipe], origins: Sequence[str] | None = None, families: Mapping[str, str] | None = None
) -> list[Problem]:
    """Return every fault of a book in a fixed order: faults of single rows first, then faults of the whole book.

    :param origins: the origin of each row; None for a book without origins.
    :param families: family -> its rule; None to leave the rules unchecked.
    """
    made = generations(rows)
    return [
        *_row_problems(rows),
        *_unreachable_problems(rows, made),
        *_backward_problems(rows),
        *_circular_problems(rows, made),
        *_orphan_problems(rows),
        *_sense_problems(rows),
        *_spelling_problems(rows),
        *_origin_problems(origins, families),
    ]


def check_shipped(
    rows: Sequence[Recipe], origins: Sequence[str] | None, families: Mapping[str, str] | None
) -> list[Problem]:
    """Return the faults of a book, and where it breaks a rule of the shipped book."""
    return [*check_recipes(rows, origins, families), *_limit_problems(rows, origins or [])]


def _row_problems(rows: Sequence[Recipe]) -> Iterator[Problem]:
    for index, row in enumerate(rows):
        for label in row:
            if not LABEL.fullmatch(label):
                message = (
                    f"label {label!r} must be lower-case letters a-z, parted by a single space, ' or -, perhaps with a "
                    "sense in brackets behind"
                )
                yield Problem("label", message, index)
    first_seen: dict[tuple[str, ...], int] = {}
    for index, (result, a, b) in enumerate(rows):
        if result in (a, b):
            yield Problem("own result", f"{result!r} is among its own ingredients", index)
        first = first_seen.setdefault((result, *sorted((a, b))), index)
        if first != index:
            yield Problem("duplicate", f"{a} + {b} -> {result} is there already, first as recipe {first + 1}", index)


def _first_rows(rows: Sequence[Recipe]) -> dict[str, int]:
    """Return label -> index of its first row."""
    first: dict[str, int] = {}
    for index, row in enumerate(rows):
        for label in row:
            first.setdefault(label, index)
    return first


def _uses(rows: Sequence[Recipe]) -> Counter[str]:
    """Return label -> number of recipes that have it as an ingredient."""
    return Counter(label for _, a, b in rows for label in dict.fromkeys((a, b)))


def _unreachable_problems(rows: Sequence[Recipe], made: Mapping[str, int]) -> Iterator[Problem]:
    for label, index in _first_rows(rows).items():
        if label not in made:
            yield Problem("unreachable", f"{label!r} cannot be made from the basic entities", index)


def _backward_problems(rows: Sequence[Recipe]) -> Iterator[Problem]:
    """Yield a problem for each two things that make each other."""
    makes: dict[tuple[str, str], int] = {}  # (ingredient, result) -> first row
    for index, (result, a, b) in enumerate(rows):
        makes.setdefault((a, result), index)
        makes.setdefault((b, result), index)
    for (ingredient, result), index in makes.items():
        other = makes.get((result, ingredient), index)
        if other < index:
            yield Problem("backward", f"{_told(rows[index])}, and {_told(rows[other])}: keep one way of the two", index)


def _circular_problems(rows: Sequence[Recipe], made: Mapping[str, int]) -> Iterator[Problem]:
    """Yield a problem for each recipe with an ingredient that cannot be made without the recipe's result."""
    place = {label: at for at, label in enumerate(made)}
    needed = _needed(rows, place)
    for index, (result, a, b) in enumerate(rows):
        for label in dict.fromkeys((a, b)):
            if {label, result} <= place.keys() and result != label and needed[label] >> place[result] & 1:
                yield Problem("circular", f"{_told(rows[index])}: nothing makes {label!r} without {result!r}", index)


def _needed(rows: Sequence[Recipe], place: Mapping[str, int]) -> dict[str, int]:
    """Compute the greatest solution of "a thing needs itself and everything that all of its recipes need".

    :param place: index of each label that can be made.
    :returns: label -> bit set of the things without which it cannot be made; a thing's bit is at its index.
    """
    ways = grouped((row[0], row) for row in rows if row[1] in place and row[2] in place)
    everything = (1 << len(place)) - 1
    needs = {label: everything if label in ways else 1 << at for label, at in place.items()}
    changed = True
    while changed:
        changed = False
        for label, recipes in ways.items():
            common = everything
            for _, a, b in recipes:
                common &= needs[a] | needs[b]
            common |= 1 << place[label]
            changed |= common != needs[label]
            needs[label] = common
    return needs


def _orphan_problems(rows: Sequence[Recipe]) -> Iterator[Problem]:
    """Yield a problem for each thing that no recipe makes and a single recipe uses: often a misspelt word."""
    results = {row[0] for row in rows}
    uses = _uses(rows)
    for label, index in _first_rows(rows).items():
        if label not in results and uses[label] == 1:
            yield Problem("orphan", f"nothing makes {label!r}, and {_told(rows[index])} alone uses it", index)


def _sense_problems(rows: Sequence[Recipe]) -> Iterator[Problem]:
    first = _first_rows(rows)
    senses = grouped((found[1], label) for label in first if (found := SENSE.fullmatch(label)))
    for label, index in first.items():
        if label in senses:
            yield Problem("sense", f"{label!r} stands beside {senses[label][0]!r}: say which is meant", index)
        elif label in HOMONYMS:
            several = " or ".join(f"'{label} ({sense})'" for sense in HOMONYMS[label])
            yield Problem("sense", f"{label!r} means several things: say which, as {several}", index)


def _origin_problems(origins: Sequence[str] | None, families: Mapping[str, str] | None) -> Iterator[Problem]:
    if origins is None:
        if families:
            yield Problem("origin", "the book has no origins, and so its families no members")
        return
    members: Counter[str] = Counter()
    for index, origin in enumerate(origins):
        family = family_of(origin)
        if not origin:
            yield Problem("origin", "no origin: it is paper, own or family:NAME", index)
        elif family is None and origin not in ("paper", "own"):
            yield Problem("origin", f"{origin!r} is no origin: it is paper, own or family:NAME", index)
        elif family is not None and families is not None and family not in families:
            yield Problem("family", f"{family!r} is a family without a rule", index)
        elif family is not None:
            members[family] += 1
    for family, rule in (families or {}).items():
        if not rule:
            yield Problem("family", f"{family!r} is a family without a rule")
        if not members[family]:
            yield Problem("family", f"{family!r} is a family without members")


def _limit_problems(rows: Sequence[Recipe], origins: Sequence[str]) -> Iterator[Problem]:
    basic = basic_entities(rows)
    if len(basic) > MOST_BASIC:
        yield Problem("limit", f"{len(basic)} basic entities, at most {MOST_BASIC}: {', '.join(basic)}")
    for label, count in _uses(rows).most_common():
        if count > MOST_USES:
            yield Problem("limit", f"{count} recipes use {label!r}, at most {MOST_USES}")
    members = Counter(family for origin in origins if (family := family_of(origin)) is not None)
    for family, count in members.most_common():
        if count > MOST_OF_A_FAMILY * len(rows):
            share = f"{count / len(rows):.1%} of the recipes, at most {MOST_OF_A_FAMILY:.0%}"
            yield Problem("limit", f"the family {family!r} has {share}")
    if len(members) < LEAST_FAMILIES:
        yield Problem("limit", f"{len(members)} families, at least {LEAST_FAMILIES}")
    least, most = RECIPES_OF_A_PRODUCT
    if not least <= (mean := len(rows) / len({row[0] for row in rows})) <= most:
        yield Problem("limit", f"{mean:.2f} recipes a product, {least} to {most} on average")
    if (deepest := max(generations(rows).values())) < LEAST_GENERATIONS:
        yield Problem("limit", f"{deepest} generations, at least {LEAST_GENERATIONS}")


def _told(row: Recipe) -> str:
    return f"{row[1]} + {row[2]} -> {row[0]}"


def _spelling_problems(rows: Sequence[Recipe]) -> Iterator[Problem]:
    first_row = _first_rows(rows)
    labels = sorted(first_row)
    by_key = grouped((_spelling_key(label), label) for label in labels)
    suspects = {pair for group in by_key.values() for pair in combinations(group, 2)}
    long_words = grouped((label[:SHARED_STEM], label) for label in labels if len(label) >= LONG_WORD)
    for group in long_words.values():
        suspects.update(pair for pair in combinations(group, 2) if _one_edit_apart(*pair))
    for one, other in sorted(suspects):
        if (one, other) not in DIFFERENT_WORDS:
            index = max(first_row[one], first_row[other])
            yield Problem("spelling", f"{one!r} and {other!r} look like one word in two spellings; keep one", index)


def _spelling_key(label: str) -> str:
    """Return a key shared by spellings that differ in case, space, hyphen, plural ending or British/American form."""
    meant = SENSE.fullmatch(label)
    words = re.split(r"[ -]+", (meant[1] if meant else label).lower())
    sense = f" ({meant[2]})" if meant else ""
    return "".join(_CANONICAL.get(word, word) for word in (*words[:-1], _singular(words[-1]))) + sense


def _singular(word: str) -> str:
    if word in _CANONICAL or len(word) < 4 or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zes", "oes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") else word


def _one_edit_apart(one: str, other: str) -> bool:
    """Return whether inserting, deleting or changing one letter turns `one` into `other`, a different word."""
    if abs(len(one) - len(other)) > 1:
        return False
    short, long = sorted((one, other), key=len)
    same = next((i for i, letter in enumerate(short) if letter != long[i]), len(short))
    if len(short) == len(long):
        return short[same + 1 :] == long[same + 1 :]
    return short[same:] == long[same + 1 :]


# ---- A user's own book.

# Kinds of problems whose recipes are dropped from a user's book, and kinds that are not reported for it.
LEFT_OUT = ("own result", "duplicate")
NOT_TOLD = ("label",)


def checked(recipes: Recipes, families: Mapping[str, str] | None = None) -> tuple[Recipes, list[tuple[int, Problem]]]:
    """Return the recipes without duplicates and without recipes that make one of their own ingredients; and (line,
    problem) pairs, with line 0 for the whole table."""
    found = [
        problem for problem in check_recipes(recipes.rows, recipes.origins, families) if problem.kind not in NOT_TOLD
    ]
    out = {problem.row for problem in found if problem.kind in LEFT_OUT}
    kept = recipes.where([row not in out for row in range(len(recipes.rows))])
    return kept, [(0 if problem.row is None else recipes.lines[problem.row], problem) for problem in found]


# ---- The counts of the shipped book in the manifest.


def book_counts(recipes: Recipes, older: Iterable[Recipe]) -> dict[str, int]:
    """Return the size of a book, the number of recipes of each origin, and the overlap with the 2020 book.

    :param older: the rows of the 2020 book. A sense in brackets is left out of the comparison.
    """
    counts, origins = count_recipes(recipes.rows), recipes.origins or []
    of_origin = Counter("family" if family_of(origin) else origin for origin in origins)
    theirs = {(result, *sorted(pair)) for result, *pair in older}
    words = {label for row in theirs for label in row}
    mine = [(_word(result), *sorted((_word(a), _word(b)))) for result, a, b in recipes.rows]
    return {
        **{name: getattr(counts, name) for name in ("entities", "recipes", "basic", "generations")},
        "families": len({family_of(origin) for origin in origins} - {None}),
        **{f"of origin {origin}": count for origin, count in sorted(of_origin.items())},
        "of the 2020 book's words": sum(words.issuperset(row) for row in mine),
        "in the 2020 book": sum(row in theirs for row in mine),
    }


def _word(label: str) -> str:
    meant = SENSE.fullmatch(label)
    return meant[1] if meant else label


# ---- The command.


def main(arguments: Sequence[str] | None = None) -> int:
    """Check one book; return 0 if it is clean, 2 if it has problems or cannot be read."""
    parser = argparse.ArgumentParser(
        prog="python -m gumption.data.recipe_check", description="Check a recipe book (tab-separated)."
    )
    parser.add_argument(
        "file",
        type=Path,
        nargs="?",
        help="result, ingredient, ingredient per row, perhaps the origin (the shipped book)",
    )
    parser.add_argument("--families", type=Path, help="a file with the rule of each family")
    parser.add_argument(
        "--beside", type=Path, help="print the counts of the manifest, with those beside this 2020 book"
    )
    given = parser.parse_args(arguments)
    file = given.file or shipped_path(BOOK)
    rules = given.families or (None if given.file else shipped_path(FAMILIES))
    try:
        recipes = read_recipes_tsv(file)
        families = None if rules is None else read_families(rules)
        older = None if given.beside is None else read_recipes_json(given.beside)[1]
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if given.file:
        problems = check_recipes(recipes.rows, recipes.origins, families)
    else:
        problems = check_shipped(recipes.rows, recipes.origins, families)
    for problem in problems:
        place = f"{file}:{recipes.lines[problem.row]}" if problem.row is not None else f"{file}"
        print(f"{place}: {problem.kind}: {problem.message}", file=sys.stderr)
    if problems:
        kinds = Counter(problem.kind for problem in problems)
        print("problems: " + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())), file=sys.stderr)
        return 2
    counts = f"{given.file or BOOK}: {count_recipes(recipes.rows)}"
    print(counts if older is None else json.dumps(book_counts(recipes, older), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())

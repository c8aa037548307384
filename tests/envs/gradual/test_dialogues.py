"""A dialogue of each task, byte by byte: from the document where its figure is whole, else from the rules."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from gumption.envs.gradual import judge, known_tasks

Exchange = tuple[str, str, str, str]
GOOD = "good job! ;"

# What the instance hides; then question, answer, feedback, and the rewards of the answer's bytes, or of the last.
DIALOGUES: dict[str, tuple[Mapping[str, Any], list[Exchange]]] = {
    "micro1": (
        {"alphabet": "abcdefgh !", "answer": "c"},
        [("a", "c", "", "+"), (" ", "c", "", "+"), ("c", "a", "", "-"), ("b", " ", "", "-")],
    ),
    "micro2": (
        {"mapping": dict.fromkeys("wait", "i")},
        [("w", "i", "", "+"), ("i", "i", "", "+"), ("!", "!", "", "+"), ("a", "a", "", "-"), (":", "i", "", "-")],
    ),
    "micro3": (
        {"mapping": dict(zip("abcd", "badc", strict=True))},
        [("a", "b", "", "+"), ("d", "c", "", "+"), (";", ";", "", "+"), ("c", "c", "", "-")],
    ),
    "micro4": (
        {"mapping": {character: character for character in "wi !"}},
        [("w", "w", "", "+"), (" ", " ", "", "+"), ("!", "w", "", "-")],
    ),
    "micro5.1": ({"mapping": {"4": "7", "5": "5"}}, [("4", "7", "7", "+"), ("5", "5", "5", "+"), ("4", "5", "7", "-")]),
    "micro5.2": ({"mapping": {"4": "7"}}, [("4", "7", "7;", "+"), ("4", "5", "7;", "-")]),
    "micro5.3": ({"mapping": {"4": "7"}}, [("4.", "7", "7;", "+"), ("4.", ".", "7;", "-")]),
    "micro5.4": ({"mapping": {"4": "70"}}, [("4.", "70", "70;", "+"), ("4.", "7.", "70;", "-")]),
    "micro5.5": ({"mapping": {"4": "7."}}, [("4.", "7.", "7.;", "+"), ("4.", "77", "7.;", "-")]),
    "micro5.6": (
        {"mapping": {"0": "0.", "1": "1."}},
        [("0.", "1 ", "0.;", "-"), ("1.", "1 ", "1.;", "-"), ("1.", "1.", "1;", "+"), ("0.", "1.", "0.;", "-"),
         ("0.", "0.", "0;", "+")],
    ),
    "micro5.7": (
        {"mapping": {"0": "0.", "1": "11.", "4": "15."}},
        [("4.", "15.", "15.;", "+"), ("0.", "0.", "0.;", "+"), ("1.", "1..", "11.;", "-"), ("1.", "11.", "11.;", "+")],
    ),
    "micro5.8": ({"mapping": {"00": "0.", "10": "1."}}, [("00.", "1.", "0.;", "-"), ("10.", "1.", "1.;", "+")]),
    "micro5.9": ({"mapping": {"00": "0.", "1": "1."}}, [("00.", "0.", "0.;", "+"), ("1.", "0.", "1.;", "-")]),
    "micro5.12": (
        {"mapping": {"0": "101.", "1": "01020."}},
        [("0.", "1.  ", "101.;", "-"), ("0.", "101.", "101.;", "+"), ("1.", "01020.", "01020.;", "+")],
    ),
    "micro5.13": (
        {"mapping": {"000": "0.", "10101": "1."}},
        [("000.", "1.", "0.;", "-"), ("10101.", "1.", "1.;", "+"), ("000.", "0.", "0.;", "+")],
    ),
    "micro5.15": (
        {"mapping": {"0": "101.", "1": "0."}},
        [("0.", "1.11", "101.;", "-"), ("1.", "0.", "0.;", "+"), ("0.", "101.", "101.;", "+")],
    ),
    "micro5.16": (
        {"mapping": {"001": "1.", "11": "0."}},
        [("001.", "0.", "1.;", "-"), ("11.", "0.", "0.;", "+"), ("001.", "1.", "1.;", "+")],
    ),
    "micro5.17": (
        {"mapping": {"001": "11.", "0": "1."}},
        [("001.", "0. ", "11.;", "-"), ("0.", "1.", "1.;", "+"), ("001.", "11.", "11.;", "+")],
    ),
    "micro5.18": (
        {"mapping": {"001101": "1234567890.", "0": "1."}},
        [("001101.", "1234567890.", "1234567890.;", "+"), ("0.", "0.", "1.;", "-")],
    ),
    "micro6": (
        {"mapping": {"apple": "house"}},
        [("random_map: apple.", "0011.", "wrong! house.;", "-"), ("random_map: apple.", "house.", GOOD, "+")],
    ),
    "micro7.1": ({}, [("say: a.", "0.", "false! a.;", "-"), ("say: a.", "a.", "correct! a.;", "+")]),
    "micro7.2": ({}, [("say: hello.", "o.", "false! hello.;", "-"), ("say: hi.", "hi.", "correct! hi.;", "+")]),
    "micro7.3": (
        {},
        [("say: hi world.", "hi.", "false! hi world.;", "-"),
         ("say: hi world.", "hi world.", "correct! hi world.;", "+")],
    ),
    "micro8": (
        {},
        [("say:   a b   .", "a b .", "correct! a b .;", "+"), ("say: ab.", "ab.", "correct! ab.;", "+"),
         ("say:    x   y.", "x  y.", "false! x y.;", "-")],
    ),
    "micro9.1": ({}, [("spell: a.", "a .", "good job! a .;", "+"), ("spell: b.", "b.", "wrong! b .;", "-")]),
    "micro9.2": (
        {},
        [("spell: mono.", "m o n o .", "good job! m o n o .;", "+"),
         ("spell: stereo.", "s t e .", "wrong! s t e r e o .;", "-")],
    ),
    "micro9.3": (
        {},
        [("interleave: man by -.", "m-a-n.", "good job! m-a-n.;", "+"),
         ("interleave: man by #.", "m#a#n#.", "wrong! m#a#n.;", "-")],
    ),
    "micro10": (
        {}, [("say: a say: b.", "b.", "wrong! a b.;", "-"), ("say: a say: b say: c.", "a b c.", GOOD, "+")],
    ),
    "micro11": (
        {},
        [("say: ab say: cd reverse:.", "cd ab.", GOOD, "+"), ("say: ab say: cd concatenate:.", "abcd.", GOOD, "+"),
         ("say: ab say: cd interleave:.", "acbd.", GOOD, "+"),
         ("say: ab say: cd reverse:.", "dc ba.", "wrong! cd ab.;", "-")],
    ),
    "micro12": (
        {},
        [("say: abc say: b union:.", "abc.", GOOD, "+"), ("say: abc say: d union:.", "abcd.", GOOD, "+"),
         ("say: abc say: b exclude:.", "ac.", GOOD, "+"), ("say: abc say: d exclude:.", ".", "wrong! abc.;", "-")],
    ),
    "micro13.1": (
        {},
        [(" say: a and b.", "ab.", GOOD, "+"), (" say: a and b.", "b.", "wrong! ab.;", "-"),
         (" say: a or b.", "ba.", GOOD, "+"), (" say: c or c.", "d.", "wrong! c.;", "-"),
         (" say: anything and not a.", "b.", GOOD, "+"), (" say: a or b but not a.", "b.", GOOD, "+"),
         (" say: a or b but not a.", "ab.", "wrong! b;", "-"), (" say: a or b but not c.", "ba.", GOOD, "+")],
    ),
    "micro13.2": (
        {},
        [("say: a and b and c and d and b.", "abcdb.", GOOD, "+"), ("say: ab or ef or c or de.", "abc.", GOOD, "+"),
         ("say: a and b.", "ba.", "wrong! ab.;", "-"), ("say: ab or ab.", "a.", "wrong! ab;", "-")],
    ),
    "micro14": (
        {}, [("after d comes what:.", "e.", GOOD, "+"), ("after g comes what:.", "f.", "wrong! h.;", "-")],
    ),
    "micro15": (
        {"mapping": {"one": "two", "two": "three"}},
        [("say next after: one.", "one.", "wrong! two.;", "-"), ("say next after: one.", "two.", GOOD, "+")],
    ),
    "micro16": (
        {},
        [("say: ab say: cd interleave:.", "acbd.", GOOD, "+"), ("spell: a.", "a .", "good job! a .;", "+"),
         ("say: a say: b.", "ab.", "wrong! a b.;", "-")],
    ),
    "micro19": (
        {"task": "micro10"},
        [("write: a print: b.", "a b.", GOOD, "+"), ("behind d comes what:.", "e.", GOOD, "+"),
         ("say: abc say: b remove:.", "abc.", "wrong! ac.;", "-")],
    ),
    "micro20": (
        {},
        [("measure is as say - measure: bd measure: bc reverse:.", "bc bd.", GOOD, "+"),
         ("panda is as after - panda d comes what:.", "d.", "wrong! e.;", "-")],
    ),
    "micro8.1": ({}, [("say:  a b.", "a b.", "correct! a b.;", "+"), ("say: a  b.", "a  b.", "false! a b.;", "-")]),
    "micro8.2": ({}, [("say: a b   .", "a b .", "correct! a b .;", "+"), ("say: a   b.", "ab.", "false! a b.;", "-")]),
    "micro8.3": ({}, [("say: a    b.", "a b.", "correct! a b.;", "+"), ("say:    a b.", "a.", "false! a b.;", "-")]),
    "micro9.2v1": (
        {},
        [("spell: mono.", "m o n o .", "good job! m o n o .;", "+"),
         ("spell: stereo.", "s t e.", "wrong! s t e r e o .;", "-"), ("spell: on.", " ", "wrong! o n .;", "-")],
    ),
    "micro9.2v2": (
        {},
        [("spell: man.", "m.", "wrong! m a n .;", "+-"),
         ("spell: moss.", "m o s s .", "good job! m o s s .;", "+" * 9)],
    ),
    "micro9.4.1": (
        {},
        [("shorter: cat house.", "cat.", GOOD, "+"), ("longer: cat house.", "house.", GOOD, "+"),
         ("longer: a an.", "a.", "wrong! an.;", "-")],
    ),
    "micro9.4.2": (
        {},
        [("shortest: apple cat house.", "cat.", GOOD, "+"), ("longest: a old an.", "a.", "wrong! old.;", "-")],
    ),
    "micro9.4.3": (
        {},
        [("say: hi my world except: my.", "hi world.", GOOD, "+"),
         ("say: a b a c except: a.", "b a c.", "wrong! b c.;", "-")],
    ),
    "micro9.4.4": (
        {}, [("remove: ell from: hello.", "ho.", GOOD, "+"), ("remove: a from: cat.", "cat.", "wrong! ct.;", "-")],
    ),
    "micro9.4.5": (
        {}, [("find: ell in: hello.", "true.", GOOD, "+"), ("find: leh in: hello.", "true.", "wrong! false.;", "-")],
    ),
    "micro9.4.6": (
        {},
        [("remove all: an from: banana.", "ba.", GOOD, "+"),
         ("remove all: a from: banana.", "bnana.", "wrong! bnn.;", "-")],
    ),
    "micro9.4.7": (
        {},
        [("find all: ana in: banana.", "2 4.", GOOD, "+"), ("find all: b in: banana.", "0.", "wrong! 1.;", "-"),
         ("find all: x in: banana.", "none.", GOOD, "+")],
    ),
    "micro11.2": (
        {},
        [("say: ab say: cd reverse: concatenate:.", "cdab.", GOOD, "+"),
         ("say: ab say: cd reverse: reverse: interleave:.", "acbd.", GOOD, "+"),
         ("say: ab say: cd reverse: reverse:.", "cd ab.", "wrong! ab cd.;", "-")],
    ),
    "micro13.3": (
        {},
        [("say: a and b or c.", "cab.", GOOD, "+"), ("say: a or b and c.", "a.", GOOD, "+"),
         ("say: ab and c or abc.", "abcab.", "wrong! abc.;", "-")],
    ),
    "produce1": ({}, [("description: AB; produce.", "ABAB.", "right.;", "+")]),
    "produce2": ({}, [("description: AB or C; produce.", "CAB.", "right.;", "+")]),
    "produce3": ({}, [("description: AB and C; produce.", "CAB.", "right.;", "+")]),
    "produce4": ({}, [("description: anything and not AB; produce.", "BA.", "right.;", "+")]),
    "produce5": ({}, [("description: anything; produce.", "X.", "right.;", "+")]),
    "produce-two": ({}, [("description: AB; produce 2 distinct strings.", "AB ABAB.", "right.;", "+")]),
    "hex1": ({}, [("Compute: seven=", "7", GOOD, "+"), ("Compute: 7=", "8", "wrong! 7;", "-")]),
    "hex2": ({}, [("Compute: 4071=", "4071", GOOD, "+"), ("Compute: 90=", "9 ", "wrong! 90;", "-")]),
    "hex3": ({}, [("Compute: 99+1=", "100", GOOD, "+"), ("Compute: 41+1=", "41", "wrong! 42;", "-")]),
    "hex4": ({}, [("Compute: 17+5=", "22", GOOD, "+"), ("Compute: 1+1=", "3", "wrong! 2;", "-")]),
    "hex5": ({}, [("Compute: 17-5=", "12", GOOD, "+"), ("Compute: 7-7=", "7", "wrong! 0;", "-")]),
    "hex6": ({}, [("Compute: 17*5=", "85", GOOD, "+"), ("Compute: 7*0=", "7", "wrong! 0;", "-")]),
    "hex7": ({}, [("Compute: 17/5=", "3", GOOD, "+"), ("Compute: 4/5=", "1", "wrong! 0;", "-")]),
    "hex8": ({}, [("Compute: 2+3*4=", "14", GOOD, "+"), ("Compute: 10-8/2=", "1", "wrong! 6;", "-")]),
    "hex9": ({}, [("Compute: (2+3)*4=", "20", GOOD, "+"), ("Compute: 2*(9-8)=", "9", "wrong! 2;", "-")]),
    "hex10": ({}, [("Convert: c=", "12", GOOD, "+"), ("Convert: 9=", "0", "wrong! 9;", "-")]),
    "hex11": ({}, [("Convert: 4ce=", "1230", GOOD, "+"), ("Convert: 10=", "10", "wrong! 16;", "-")]),
    "hex12": ({}, [("Convert: (1a+f)*a=", "410", GOOD, "+"), ("Convert: 9+1=", "11", "wrong! 10;", "-")]),
    "hex13": ({}, [("Count: 1230+1=", "4 1231", GOOD, "+"), ("Count: 9+1=", "10  ", "wrong! 2 10;", "-")]),
    "hex14": ({}, [("Evaluate: 4ce+1a5eb*a=", "7 1081340", GOOD, "+"), ("Evaluate: a=", "1 10", "wrong! 2 10;", "-")]),
}  # fmt: skip

# Their feedback is drawn: it is tested below.
WITH_DRAWN_FEEDBACK = {"micro5.10", "micro5.11", "micro5.14", "hex15", "hex16", "hex17"}


@pytest.mark.parametrize("name", DIALOGUES)
def test_a_dialogue(check_dialogue: Callable[..., None], name: str) -> None:
    hidden, exchanges = DIALOGUES[name]
    check_dialogue(known_tasks()[name], exchanges, hidden)


@pytest.mark.parametrize("name", DIALOGUES)
def test_judge_says_the_same(name: str) -> None:
    hidden, exchanges = DIALOGUES[name]
    for question, answer, feedback, reward in exchanges:
        verdict = judge(name, question, answer, context=hidden)
        assert verdict.correct == reward.endswith("+")
        assert feedback in verdict.feedbacks


@pytest.mark.parametrize(
    ("name", "digits"), [("micro5.10", "[0-9]"), ("micro5.11", "[0-9]?"), ("micro5.14", "[0-9]{2,4}")]
)
def test_feedback_after_digits_without_meaning(rows: Callable[..., tuple[str, str]], name: str, digits: str) -> None:
    heard, rewards = rows(known_tasks()[name], " 7.       ", {"mapping": {"4": "7."}}, ["4.", "4."])
    assert re.match(rf"4\. {digits}7\.;", heard)
    assert rewards[:3] == "  +"


@pytest.mark.parametrize(
    ("name", "question", "answer"),
    [
        ("hex15", "Evaluate: 8+8=", "2 16"),
        ("hex16", "Evaluate: foo=4ce; foo+1=", "4 1231"),
        ("hex17", "Evaluate: foo=4ce; (foo+1a5eb)*a+1=", "7 1092411"),  # the document's
    ],
)
@pytest.mark.parametrize("right", [True, False])
def test_feedback_that_has_to_be_evaluated(
    rows: Callable[..., tuple[str, str]], name: str, question: str, answer: str, right: bool
) -> None:
    said = answer if right else answer[::-1]
    row = " " * (len(question) - 1) + said + " " * 20
    heard, rewards = rows(known_tasks()[name], row, {}, [question])
    found = re.match(re.escape(question) + " *good if ([0-9a-f]+)==([0-9a-f])\\+([0-9a-f]);", heard)
    assert found is not None
    value, first, second = (int(number, 16) for number in found.groups())
    assert (value == first + second) == right
    assert rewards.rstrip(" ") == " " * (len(question) + len(said) - 2) + ("+" if right else "-")
    verdict = judge(name, question, said)
    assert verdict.correct == right
    assert ("good if a==5+5;" in verdict.feedbacks) == right


def test_each_micro_task_has_a_dialogue() -> None:
    micro = {name for name, task in known_tasks().items() if task.cycle == "micro"}
    in_turns = {name for name in micro if known_tasks()[name].reply or name.endswith("s")}  # see test_turns.py
    assert DIALOGUES.keys() | WITH_DRAWN_FEEDBACK == micro - in_turns

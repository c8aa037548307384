"""Take turns: split the stream into questions, answers and feedback, from bytes and rewards only.

The learner probes by silence: a reward for silence always judges an answer, so that the text before it was complete.
From such texts it infers a rule for the end of the environment's texts.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from .texts import SILENCE, is_sign, kind, shape, tokens

# ---- The end of the environment's texts: rules, and their inference from texts with a known end.

ENOUGH = 3  # texts that a rule must fit


@dataclass(frozen=True)
class EndRule:
    """End a text with its `length`-th byte; or, if that is 0, with the first `end` after the first `after`, or with the
    first `end` if `after` is "".
    """

    length: int = 0
    end: str = ""
    after: str = ""

    def reached(self, text: str) -> bool:
        """Return whether a text ends with its last byte, and not before."""
        if self.length:
            return len(text) == self.length
        if not text or text[-1] != self.end:
            return False
        start = text.find(self.after) + 1 if self.after else 0
        if self.after and not start:
            return False
        return text.find(self.end, start) == len(text) - 1


def fitting(texts: Sequence[str], known: Sequence[EndRule]) -> EndRule | None:
    """Return a rule that fits all texts: a known rule, else a rule by signs, else a rule by length."""
    if len(texts) < ENOUGH:
        return None
    rules, end = [*known], texts[0][-1]
    if len(texts[0]) > 1 and is_sign(end):
        common = [char for char in dict.fromkeys(texts[0][:-1]) if is_sign(char)]
        rules += [EndRule(end=end, after=after) for after in [*sorted(common, key=end.__eq__), ""]]
    rules.append(EndRule(length=len(texts[0])))
    return next((rule for rule in rules if all(map(rule.reached, texts))), None)


# ---- The conversation

PATIENCE = 16  # bytes of silence after which the environment seems to wait for a sign
_MISFITS = 2  # misfits of a rule at which the learner infers another rule
_PARDON = 0.5  # misfits subtracted for each text that the rule fits
_DOUBTS = 2  # wrong answers in a row, judged at the sign, after which the learner sends only the sign
_MISREAD = 2  # wrong answers in a row that feedback repeats, after which the learner reads it in another way
_FIRST_PROBE = 6  # failures in a row after which the learner probes the ends of texts


@dataclass(frozen=True)
class Episode:
    """Hold a question, the answer, its reward, 1 or -1, and the feedback, "" for none.

    :ivar length: bytes after which the environment judged the answer, 0 if a sign of the learner ended it.
    :ivar late: whether the reward came after the feedback.
    """

    question: str
    said: str
    reward: int
    feedback: str
    length: int
    late: bool


class Turns:
    """Model the conversation for the learner.

    :ivar open: whether it is the learner's turn. :ivar question: the current question, None if unknown.
    :ivar said: the answer so far. :ivar stop: the sign that ends an answer, "" while unknown.
    :ivar stopped: whether answers end with that sign, and not with a length.
    :ivar missed: whether the learner noticed its turn late, so that an answer can only bring feedback.
    :ivar parted: whether answers have parts: silence ends a part, and the environment may reply to it.
    :ivar replies: known replies. :ivar reply: the current reply, "" for none; the answer goes on after it.
    """

    def __init__(self) -> None:
        self.rule: EndRule | None = None
        self.rules: Counter[EndRule] = Counter()
        self.enders: Counter[str] = Counter()
        self.splitter = Splitter()
        self.stop, self.stopped = "", False
        self.open = self.missed = False
        self.question: str | None = None
        self.said = ""
        self.parted, self.reply = False, ""
        self.replies: set[str] = set()
        self._misread = 0
        self._text = ""
        self._blocked = self._waited = False
        self._probing = True
        self._texts: list[str] = []
        self._judged: tuple[str, str, int, int, bool] | None = None
        self._boundary = 0
        self._credit = 0
        self._failures, self._probe_at = 0, _FIRST_PROBE
        self._tried: list[str] = []
        self._misfits = self._misfits_before = 0.0
        self._verdicts = self._doubts = 0

    def hear(self, reward: int, char: str) -> list[Episode]:
        """Process a step and return the episodes that it completes."""
        if self.open:
            if not self._in_turn(reward, char):
                return []
            done = []
        elif reward and not (reward > 0 and self._late):
            done = self._end()
            self._verdict(SILENCE * self._length, reward, self._length)
        else:
            if reward > 0:
                self._credit, self._boundary = 1, len(self._text)
                self._succeeded()
            done = []
        self._text += char
        if self._my_turn():
            done += self._end()
            self.open = True
        return done

    def follow(self, rule: EndRule) -> None:
        """Use a rule that is known from the start."""
        self.rule, self._probing = rule, False

    @property
    def silent(self) -> bool:
        """Return whether the environment sends only questions of a single byte, and judges every reply."""
        return self.rule is not None and self.rule.length == 1

    @property
    def waiting(self) -> bool:
        """Return whether a long silence of the environment suggests that it waits for a sign."""
        return (self.open and self.said.endswith(SILENCE * PATIENCE)) or (self.missed and not self.said)

    @property
    def doubtful(self) -> bool:
        """Return whether answers may end with the sign, not a length: wrong answers were repeatedly judged at it."""
        return self._doubts >= _DOUBTS

    def misread(self, said: str, shown: str) -> bool:
        """Return whether the learner misread feedback: twice in a row it showed a wrong answer as right. Then toggle
        `parted`: answers have parts, all in the feedback, or have none after all."""
        self._misread = self._misread + 1 if said == shown else 0
        if self._misread < _MISREAD:
            return False
        self.parted, self._misread = not self.parted, 0
        return True

    def sign(self) -> str:
        """Return the likeliest sign to end an answer that the learner has not tried on this question."""
        likely = [sign for sign, _ in self.enders.most_common()]
        text = (self.question or self._text).strip()
        everything = [*likely, self.stop, *reversed(text), *map(chr, range(33, 127))]
        sign = next((sign for sign in everything if sign and sign not in self._tried), self.stop or ".")
        self._tried.append(sign)
        self._waited = True
        return sign

    # The steps.

    @property
    def _late(self) -> bool:
        return self._judged is not None and self._judged[4]

    def _my_turn(self) -> bool:
        if self.open:
            return False
        if not self._probing and not self._blocked and self.rule is not None and self.rule.reached(self._text):
            self.missed = False
            return True
        self.missed = self._text.endswith(SILENCE * PATIENCE) and bool(self._text.strip())
        return self.missed

    def _in_turn(self, reward: int, char: str) -> bool:
        """Process a step of the learner's turn; return whether it brought a verdict."""
        last = self.said[-1]
        if self._replied(reward, char):
            return False
        if reward:
            if reward < 0 and self.stopped and last not in (SILENCE, self.stop):
                self._out_of_turn(char)
                return False
            signed = last != SILENCE and (self.stopped or self._waited or self._only_stop(self.said))
            self._verdict(self.said, reward, 0 if signed else len(self.said))
            return True
        if char == SILENCE:
            return False
        heard = self.said[:-1] != "" or self.missed
        if last != SILENCE and (last == self.stop if self.stop else heard):
            self._verdict(self.said, 0, 0)
            return True
        self._out_of_turn(char)
        return False

    def _replied(self, reward: int, char: str) -> bool:
        """Process a step that may belong to a reply to a part of an answer; return whether it does."""
        running = self.reply
        part_ended = self.parted and self.said[-1] == SILENCE and self.said.strip() != ""
        if not running and (reward or char == SILENCE or not part_ended):
            return False
        waits = running.endswith(SILENCE * 2)
        if reward or waits:  # a new reply has ended
            self.replies.add(running.rstrip(SILENCE) if waits else running)
            self.reply = ""
            return False
        self.reply += char
        if self.reply in self.replies:
            self.reply = ""
        return True

    def _out_of_turn(self, char: str) -> None:
        """Close the learner's turn: the environment's text had not ended."""
        if self.rule is not None and not self.missed and self._texts:
            self._texts.pop()
            self._misfits = self._misfits_before
        self._text += SILENCE * (len(self.said) - 1) + char
        self.open, self.said, self._blocked = False, "", True

    def _end(self) -> list[Episode]:
        """End the text: the feedback in it completes an episode, the rest is the new question."""
        text = self._text.rstrip(SILENCE) or self._text[:1]
        self._length = len(self._text) - len(text) + 1
        if self._verdicts:  # the first text has no feedback in it, unlike all others
            self._keep(text)
        judged, self.question, done = self._judged, None, []
        if self.rule is None and self._verdicts:
            self._judged = None
            return done
        place = self.splitter.place(text, self.rule, self._boundary, not self._verdicts, self._late)
        feedback, self.question, self._judged = text[:place], text[place:], None
        if judged is not None:
            question, said, reward, length, late = judged
            reward = (self._credit or -1) if late else reward
            feedback = self.splitter.body(feedback, self.stop)
            if said == self.stop and not late and len(feedback) == 1:  # answers of a single byte, not ended by the sign
                length, self.stopped = 1, False
            if late and not feedback:  # another stream has begun: the answer has no verdict
                return done
            done.append(Episode(question, said, reward, feedback, length, late))
        return done

    def _keep(self, text: str) -> None:
        """Learn from a text with a known end."""
        self._texts = [*self._texts, text][-ENOUGH:]
        if self.rule is not None and not self._probing:
            self._misfits_before = self._misfits
            fits = self.rule.reached(text)
            self._misfits = max(0, self._misfits - _PARDON) if fits else self._misfits + 1
            if fits:
                self.rules[self.rule] += 1
            if self._misfits < _MISFITS:
                return
        rule = fitting(self._texts, [rule for rule, _ in self.rules.most_common()])
        if rule is not None:
            self.rule, self._misfits = rule, 0
            self.splitter.learn(self._texts, rule, self._length)
        elif not self._probing:
            self._texts = [text]
        self._probing = rule is None

    def _succeeded(self) -> None:
        self._failures, self._probe_at = 0, _FIRST_PROBE

    def _only_stop(self, said: str) -> bool:
        """Return whether the answer is only the sign, so that a verdict shows that the sign ends answers."""
        return said == self.stop and not self.silent

    def _verdict(self, said: str, reward: int, length: int) -> None:
        last = said[-1]
        self._verdicts += 1
        if last == SILENCE:
            self.stopped = False
        elif self._waited or self._only_stop(said):
            self.stop, self.stopped = last, True
        self._doubts = self._doubts + 1 if reward < 0 and last == self.stop and not self.stopped else 0
        if reward > 0 and len(said) > 1 and is_sign(last):
            self.enders[last] += 1
            self.stop = self.stop or last
        self._judged = None if self.question is None else (self.question, said, reward, length, reward == 0)
        self._text = self.said = ""
        self._tried = []
        self.open = self._blocked = self._waited = self.missed = False
        self._boundary = self._credit = 0
        if reward > 0:
            self._succeeded()
        else:
            self._failures += 1
        # With a sign at the end, only a late verdict can be mistaken: answers in the middle of a text seem wrong.
        doubtful = self.rule is not None and (self.rule.length or not reward)
        if doubtful and self._failures >= self._probe_at:
            self._failures, self._probe_at = 0, self._probe_at * 2
            self._probing, self._texts = True, []


# ---- The boundary of feedback and the next question in a text of the environment.

_FADING = 0.9  # the effective sample is about ten texts
_FORGOTTEN = 1e-3
_KNOWN = 3.0  # texts from which a character counts as an end of feedback


class Splitter:
    """Split a text into feedback and question by the starts of earlier questions and the ends of earlier feedback.

    :ivar starts, shapes: first token, and shape, of a question -> its frequency; recent texts weigh more.
    :ivar ends: whether rewards come late -> last character of feedback -> its frequency.
    """

    def __init__(self) -> None:
        self.starts: dict[str, float] = {}
        self.ends: dict[bool, dict[str, float]] = {False: {}, True: {}}
        self.shapes: dict[str, float] = {}
        self.offsets: dict[int, int] = {}

    def learn(self, texts: Sequence[str], rule: EndRule, length: int) -> None:
        """Learn the boundary in texts of a rule by length, followed by `length` bytes of silence: after the last sign
        at the same place in all texts, else the feedback is as long as the answer."""
        if not rule.length:
            return
        signs = [place for place, char in enumerate(texts[0][:-1]) if is_sign(char)]
        common = [place for place in signs if all(text[place] == texts[0][place] for text in texts)]
        self.offsets[rule.length] = common[-1] + 1 if common else min(length, rule.length - 1)

    def place(self, text: str, rule: EndRule | None, boundary: int, first: bool, late: bool) -> int:
        """Return the place where the question begins.

        :param boundary: place of a late reward, 0 for none. :param first: there was no answer before.
        """
        if first or rule is None:
            place = 0
        elif boundary:
            place = boundary
        elif rule.length:
            place = min(self.offsets.get(rule.length, 0), len(text) - 1)
        else:
            places = [0, *(place for place in range(1, len(text)) if not text[place - 1].isalnum())]
            place = max(places, key=lambda place: self._score(text, place, rule, late))
        _count(self.starts, _start(text[place:]))
        _count(self.shapes, shape(text[place:]))
        if place:
            _count(self.ends[late], text[place - 1])
        return place

    def body(self, feedback: str, stop: str) -> str:
        """Strip the silence around feedback and the sign that ends it."""
        text = feedback.strip(SILENCE)
        if text and is_sign(text[-1]) and text[-1] != stop and text[-1] in self.ends[False]:
            return text[:-1]
        return text

    def _score(self, text: str, place: int, rule: EndRule, late: bool) -> float:
        prior = 0.02
        if place:
            char, ends = text[place - 1], self.ends[late]
            prior = min(1, ends.get(char, 0)) + (0.2 if is_sign(char) else 0.1 if late else 0.02)
            prior += 0.5 * (char == rule.after and not late)
            known = {end for end, times in ends.items() if times > _KNOWN}
            if known & set(text[: place - 1]):  # feedback ended earlier, at the first known end
                prior *= 0.1
        start, looks = self.starts.get(_start(text[place:]), 0), self.shapes.get(shape(text[place:]), 0)
        return log(prior) + log(min(1, start) + 0.03) + log(min(1, looks) + 1)


def _start(question: str) -> str:
    first = tokens(question.lstrip(SILENCE) or SILENCE)[0]
    return kind(first) if first[0].isdigit() else first


def _count(counts: dict[str, float], key: str) -> None:
    for other in list(counts):
        counts[other] *= _FADING
        if counts[other] < _FORGOTTEN:
            del counts[other]
    counts[key] = counts.get(key, 0) + 1

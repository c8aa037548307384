"""Agents to compare with: they get a reward and a byte and give a byte, as every agent of this world."""

from random import Random

from gumption.data.settings import Seed, checked
from gumption.envs.gradual.curriculum import Curriculum
from gumption.envs.gradual.engine import Stream
from gumption.envs.gradual.session import Result, Session

SPACE = ord(" ")


class Silent:
    """Says nothing."""

    def __call__(self, reward: int, byte: int) -> int:
        return SPACE


class Echo:
    """Says what it hears."""

    def __call__(self, reward: int, byte: int) -> int:
        return byte


class RandomBytes:
    """Says any byte."""

    @checked
    def __init__(self, seed: Seed = 0) -> None:
        self._draw = Random(seed)

    def __call__(self, reward: int, byte: int) -> int:
        return self._draw.randrange(256)


class Table:
    """Keeps one reply for each byte, and takes the next of all bytes when that has been punished.

    Replies are tried in one shuffled order, silence first, so that it is silent where nobody asks.
    """

    @checked
    def __init__(self, seed: Seed = 0) -> None:
        self._order = [byte for byte in range(256) if byte != SPACE]
        Random(seed).shuffle(self._order)
        self._order.insert(0, SPACE)
        self._place = [0] * 256
        self._last: int | None = None

    def __call__(self, reward: int, byte: int) -> int:
        if reward < 0 and self._last is not None:
            self._place[self._last] = (self._place[self._last] + 1) % 256
        self._last = byte
        return self._order[self._place[byte]]


class Knower:
    """Is told every answer, so that it needs as few steps as there can be. It is no agent: it sees the hidden state.

    :ivar stream: what it plays in; `play_knower` sets it.
    """

    stream: Stream

    def __call__(self, reward: int, byte: int) -> int:
        return known_byte(self.stream)


def known_byte(stream: Stream) -> int:
    """The next byte of the right answer when the agent may speak, else silence."""
    if not stream.listening:
        return SPACE
    life = stream.life
    before = len(life.question) - 1 if life.task.cycle == "mini" else 0  # heard while the question was sent
    answer = life.solution.answer
    return ord(answer[min(len(stream.heard) - before, len(answer) - 1)])


def play_knower(curriculum: Curriculum, seed: int = 0, success_threshold: int | None = None) -> Result:
    """What a perfect knower comes to."""
    knower = Knower()
    threshold = curriculum.success_threshold if success_threshold is None else success_threshold
    session = Session(curriculum.tasks, knower, success_threshold=threshold, seed=seed)
    knower.stream = session.stream
    return session.run()


#: Name -> what makes an agent of a seed.
BASELINES = {
    "silent": lambda seed: Silent(),
    "echo": lambda seed: Echo(),
    "random": RandomBytes,
    "table": Table,
}

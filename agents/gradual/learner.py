"""The gradual learner: rewards and bytes in, bytes out."""

from typing import Self

from gumption.kg import KnowledgeGraph

from .knowledge import read, write
from .mind import Mind
from .texts import SILENCE, last_sign
from .turns import Episode

_LEAST_TRUST = 0.2  # in a word that may stand for another


class GradualLearner:
    """An agent for a stream of bytes: `learner(reward, byte)` is the byte that it says.

    `update` writes what it has learned into a knowledge graph; `from_graph` makes a learner that goes on from there.
    """

    def __init__(self) -> None:
        self._mind = Mind()
        self._plan = ""

    @classmethod
    def from_graph(cls, graph: KnowledgeGraph) -> Self:
        """A learner that knows what a graph says.

        :raises InputError: the graph holds nothing that a learner wrote.
        """
        learner = cls()
        read(learner._mind, graph)
        return learner

    def update(self, graph: KnowledgeGraph) -> None:
        """Write what it has learned into a graph, in place of what it wrote there before."""
        write(self._mind, graph)

    def __call__(self, reward: int, byte: int) -> int:
        """Hear a reward and a byte, and say one."""
        turns = self._mind.turns
        for episode in turns.hear(reward, chr(byte)):
            self._learn(episode)
        if not turns.open or turns.reply:
            return ord(SILENCE)
        place = len(turns.said)
        if not place:
            self._plan = self._answer()
        said = turns.sign() if turns.waiting else self._plan[place : place + 1] or SILENCE
        turns.said += said
        return ord(said)

    def _answer(self) -> str:
        """What to say to the running question: what is known for sure, else the best guess, else just the sign that
        ends an answer, so that feedback comes soon."""
        mind, turns = self._mind, self._mind.turns
        if turns.missed or turns.question is None:
            return ""
        if turns.silent:
            return mind.guesser.answer(turns.question)
        if turns.doubtful:
            return turns.stop
        question = turns.question.strip(SILENCE)
        fact = mind.memory.known(question)
        answer = fact.answer if fact else mind.judgements.answer(question) or mind.memory.recalled(question)
        # Where answers change, nothing would tell that a word does not stand for the other.
        answer = answer or mind.skills.answer(question, 1 if mind.memory.changes(question) else _LEAST_TRUST)
        return answer or (turns.stop if turns.stopped else "")

    def _learn(self, episode: Episode) -> None:
        mind, turns = self._mind, self._mind.turns
        if turns.silent:
            if not episode.feedback:
                mind.guesser.learn(episode.question, episode.said, episode.reward)
            return
        question, said, shown = episode.question.strip(SILENCE), episode.said, ""
        if episode.reward < 0:
            length = 0 if turns.parted else episode.length
            shown = mind.reader.shown(episode.feedback, length, "" if episode.length else turns.stop)
            if episode.length and shown and turns.misread(said, shown):
                mind.judgements.forget(question)
                mind.inducer.examples.drop(mind.memory.forget_shown(question))
                return
        elif not episode.length:
            mind.reader.confirm(said, episode.feedback)
        mind.memory.learn(question, said, episode.reward, shown)
        part = last_sign(shown or said) if turns.parted else ""
        mind.skills.stop = part or (turns.stop if turns.stopped else "")
        if mind.memory.changes(question):
            mind.inducer.examples.drop([question])
            return
        if right := said if episode.reward > 0 else shown:
            mind.judgements.learn(question, right)
        if mind.judgements.answer(question) is None:
            mind.inducer.learn(question, said, episode.reward, shown)

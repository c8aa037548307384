"""The gradual learner: rewards and bytes in, bytes out."""

from typing import Self

from gumption.kg import KnowledgeGraph

from . import knowledge
from .feedback import Reader
from .guesses import Guesser
from .induction import Inducer
from .judgements import Judgements
from .memory import Memory
from .skills import Skills
from .texts import SILENCE
from .turns import Episode, Turns

_LEAST_TRUST = 0.2  # in a word that may stand for another


class GradualLearner:
    """An agent for a stream of bytes: `learner(reward, byte)` is the byte that it says.

    `update` writes what it has learned into a knowledge graph; `from_graph` makes a learner that goes on from there.
    """

    def __init__(self) -> None:
        self.turns = Turns()
        self.reader = Reader()
        self.guesser = Guesser()
        self.memory = Memory()
        self.skills = Skills(self.memory.lasting)
        self.judgements = Judgements()
        self.inducer = Inducer(self.skills)
        self._plan = ""

    @classmethod
    def from_graph(cls, graph: KnowledgeGraph) -> Self:
        """A learner that knows what a graph says.

        :raises InputError: the graph holds nothing that a learner wrote.
        """
        learner = cls()
        knowledge.read(learner, graph)
        return learner

    def update(self, graph: KnowledgeGraph) -> None:
        """Write what it has learned into a graph, in place of what it wrote there before."""
        knowledge.write(self, graph)

    def __call__(self, reward: int, byte: int) -> int:
        """Hear a reward and a byte, and say one."""
        turns = self.turns
        for episode in turns.hear(reward, chr(byte)):
            self._learn(episode)
        if not turns.open:
            return ord(SILENCE)
        place = len(turns.said)
        if not place:
            self._plan = self._answer()
        if turns.waiting:
            said = turns.sign()
        else:
            said = self._plan[place] if place < len(self._plan) else SILENCE
        turns.said += said
        return ord(said)

    def _answer(self) -> str:
        turns = self.turns
        if turns.missed or turns.question is None:
            return ""
        question = turns.question
        if turns.silent:
            return self.guesser.answer(question)
        question = question.strip(SILENCE)
        fact = self.memory.known(question)
        answer = fact.answer if fact else self.judgements.answer(question) or self.memory.recalled(question)
        answer = answer or self.skills.answer(question, _LEAST_TRUST)
        return answer or (turns.stop if turns.stopped else "")

    def _learn(self, episode: Episode) -> None:
        if self.turns.silent:
            if not episode.feedback:
                self.guesser.learn(episode.question, episode.said, episode.reward)
            return
        question, shown = episode.question.strip(SILENCE), ""
        if episode.reward > 0:
            if not episode.length:
                self.reader.confirm(episode.said, episode.feedback)
        else:
            stop = self.turns.stop if not episode.length else ""
            shown = self.reader.shown(episode.feedback, episode.length, stop)
        self.memory.learn(question, episode.said, episode.reward, shown)
        self.skills.stop = self.turns.stop if self.turns.stopped else ""
        if self.memory.changes(question):
            self.inducer.examples.drop([question])
            return
        if right := episode.said if episode.reward > 0 else shown:
            self.judgements.learn(question, right)
        if self.judgements.answer(question) is None:
            self.inducer.learn(question, episode.said, episode.reward, shown)

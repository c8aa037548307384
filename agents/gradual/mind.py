"""The parts of a learner that know something."""

from .feedback import Reader
from .guesses import Guesser
from .induction import Inducer
from .judgements import Judgements
from .memory import Memory
from .skills import Skills
from .turns import Turns


class Mind:
    """What a learner has learned, by kind.

    :ivar turns: the cycle of question, answer and feedback. :ivar reader: where feedback shows answers.
    :ivar guesser: questions without feedback. :ivar memory: questions and answers. :ivar skills: programs.
    :ivar inducer: makes skills from examples. :ivar judgements: questions with few different answers.
    """

    def __init__(self) -> None:
        self.turns = Turns()
        self.reader = Reader()
        self.guesser = Guesser()
        self.memory = Memory()
        self.skills = Skills(self.memory.lasting)
        self.inducer = Inducer(self.skills)
        self.judgements = Judgements()

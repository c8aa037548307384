"""Which reading of the challenge is played, where its document and its program of 2017 differ."""

from gumption.data.settings import settings


@settings
class Rules:
    """The defaults follow the program, but for what contradicts a clear sentence of the document.

    :ivar upstream_quirks: also then do as the program of 2017 did: micro13.1 takes any end of the right answer to
        "and", an instance of micro16 has one kind of question, mini2 and mini5 ask about an empty string, which is
        always false, the length of a string of the mini tasks tells something of its label, and the last reward of the
        last task is never paid.
    :ivar adaptive_stop: in micro5.6 the feedback on wrong answers has no full stop either, once ten answers in a row
        ended with one (A.2.5.6).
    :ivar early_stop: in micro5.5 to 5.18 a full stop ends an answer, even a short one (A.2.5.7).
    :ivar joined_or: micro13.2 takes for "or" nothing but some of the words, one behind the other (A.2.13.2).
    :ivar and_or_synonyms: micro19 and micro20 also ask what micro13.1 asks, so that "and" and "or" have synonyms
        (A.2.19).
    :ivar strict_descriptions: strings of the mini tasks are whole n-grams one behind the other, as in CommAI-mini;
        else n-grams may overlap.
    """

    upstream_quirks: bool = False
    adaptive_stop: bool = False
    early_stop: bool = False
    joined_or: bool = False
    and_or_synonyms: bool = False
    strict_descriptions: bool = False

    @property
    def rules(self) -> "Rules":
        """The rules alone, of settings that have more."""
        return Rules(**{name: getattr(self, name) for name in Rules.__dataclass_fields__})

"""What configs share: names of choices, and how a stored config is read. It imports nothing heavy."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, asdict, fields
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args

from gumption.data import InputError
from gumption.data.settings import settings

CONFIG = "config.json"  # of a run's folder; see run_folder.py
Mixing = Literal["linear", "softmax"]  # how knowledge enters the logits; see kg_policy.py
MIXINGS = get_args(Mixing)
Optimiser = Literal["rmsprop", "adam"]  # of the learner; see impala.py
Reduction = Literal["sum", "mean"]
Overrides = tuple[tuple[str, Any], ...]  # parameters of a learner that differ from its defaults


def config_values(value: Any, kind: type[Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a config that was stored as a dict, with those changes that are not None. Fields that came later
    than the run have their defaults.

    :raises InputError: unknown fields.
    """
    known = {field.name for field in fields(kind)}
    if not isinstance(value, dict) or ("seed" in known and "seed" not in value):
        raise InputError(f"not the config of a run: {value!r:.40}")
    if unknown := sorted(set(value) - known):
        raise InputError(f"not the config of a run: {', '.join(unknown)} unknown")
    return {**value, **{name: change for name, change in changes.items() if change is not None}}


def by_name(pairs: Overrides) -> Overrides:
    """The pairs in the order of their names.

    :raises InputError: a name twice.
    """
    names = [name for name, _ in pairs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"{twice} is set twice")
    return tuple(sorted(pairs, key=lambda pair: pair[0]))


def place_name(place: str) -> str:
    """The name of a file or folder without the folders above it; #NAME, which may have slashes, stays as it is."""
    file, mark, graph = place.partition("#")
    return Path(file).name + mark + graph


@settings
class KnowledgeConfig:
    """The knowledge of a run, in whatever world.

    :ivar kg: knowledge in the policy: "none", the world's facts of the training part ("train") or all of them ("full"),
        a graph (a file, folder or address, #NAME for one of its graphs), the folder of a link predictor, or a file of
        rules, which are applied to the facts of the training part.
    :ivar kg_fit: whether a link predictor is fitted to the facts, or they are looked up, 1 for a fact that is stated
        and 0 for any other; without it a graph of your own is looked up.
    :ivar kg_relations: what your graph or predictor calls a relation of the world, the world's name first
        (componentOf=ingredient_of); ^ before its name exchanges subject and object.
    :ivar kg_rules: a file of rules, which are applied to the graph first.
    :ivar kg_scores: the relations whose scores are used, with commas between; without any, those of three parties where
        the knowledge has them, else all.
    :ivar kg_calibrated: log-ratios to chance, or the raw scores of the link predictor.
    """

    _: KW_ONLY
    kg: str = "none"
    kg_fit: bool | None = None
    kg_relations: tuple[tuple[str, str], ...] = ()
    kg_rules: str | None = None
    kg_scores: tuple[str, ...] = ()
    kg_calibrated: bool = True

    #: Fields that name a file or folder: a run keeps the name alone, and its manifest a hash.
    PLACES: ClassVar[tuple[str, ...]] = ("kg", "kg_rules")

    def check_knowledge(self) -> None:
        """:raises InputError: settings of knowledge that there is none of, or that exclude each other."""
        of_knowledge = [one for one in fields(self) if one.name.startswith("kg_") or one.name == "mixing"]
        given = [one.name for one in of_knowledge if getattr(self, one.name) != one.default]
        if self.kg == "none" and given:
            raise InputError(f"{', '.join(given)}: that is for knowledge; add kg='train', 'full' or a graph")
        if self.kg_fit is False and not self.kg_calibrated:
            raise InputError("raw scores are a link predictor's; facts that are looked up have none")
        if twice := next((name for name in self.kg_scores if self.kg_scores.count(name) > 1), None):
            raise InputError(f"kg_scores names {twice!r} twice")

    def to_json(self) -> dict[str, Any]:
        """A dict for json.dump."""
        value = asdict(self)
        return value | {name: value[name] and place_name(value[name]) for name in self.PLACES}

    @classmethod
    def from_json(cls, value: Any, **changes: Any) -> Self:
        """The config of such a dict.

        :param changes: fields to replace, such as the place of a file, where they are not None.
        :raises InputError: unknown or missing fields.
        """
        return cls(**config_values(value, cls, changes))


@settings
class GuidedConfig(KnowledgeConfig):
    """Knowledge that is mixed into the logits of a policy.

    :ivar kg_only: act by the scores alone; nothing is learned.
    :ivar mixing: "linear" (Jiang et al., 2020, equation 5), "softmax", or MODULE:NAME of a subclass of `KGPolicy`.
    """

    _: KW_ONLY
    kg_only: bool = False
    mixing: str = "linear"

    def check_knowledge(self) -> None:
        """:raises InputError: as of `KnowledgeConfig`; a mixing of nothing."""
        if self.mixing not in MIXINGS and not all(self.mixing.partition(":")):
            raise InputError(
                f"mixing is {self.mixing!r:.40}; it is {', '.join(MIXINGS)} or MODULE:NAME of a subclass of KGPolicy"
            )
        super().check_knowledge()
        if self.kg_only and self.mixing != "linear":
            raise InputError("kg_only adds the scores up; it has no mixing")

"""Which prior of a factor holds, in both presets."""

import json

import pytest

from gumption.data import InputError
from gumption.envs.physics.conditions import And, IsEqual, Or
from gumption.envs.physics.entities import Ball, Charger, Entity, FireTile, GolfBall, MagmaTile, Object, Thing, Tile
from gumption.envs.physics.factors import ID, Charge, Factor, Friction, Heat, Label, Mass, Mobile, Order, Position, Size
from gumption.envs.physics.initialization import Preset, Prior, read_prior, resolve
from gumption.envs.physics.locations import Point, RandomTopLocation
from gumption.envs.physics.noise import Choice, Deterministic, GaussianNoise, UniformNoise


class Embers(Heat):
    """A kind of heat."""


class Stove(Tile):
    """Has a kind of heat."""

    factors = {Embers: 0.7}  # noqa: RUF012


def value(priors: list[Prior], kind: type[Entity], factor: type[Factor] = Mass, preset: Preset = "fixed") -> object:
    values = {**kind.all_factors, ID: "x", Label: kind.__name__}
    found = resolve(priors, kind, values, preset)
    return found[factor].value if factor in found else None


def masses(*conditions: dict[str, object]) -> list[Prior]:
    """Priors of the masses 1, 2, ... with these conditions."""
    return [Prior(Mass, float(n), **each) for n, each in enumerate(conditions, 1)]  # pyright: ignore[reportArgumentType]


ORDER: list[dict[str, object]] = [
    {},
    {"relation": IsEqual(Mobile, True)},
    {"factor_type": Charge},
    {"entity_type": Thing},
    {"entity_type": Object},
    {"entity_type": GolfBall},
    {"entity_type": GolfBall, "relation": IsEqual(Mobile, True)},
    {"relation": IsEqual(Label, "GolfBall")},
    {"relation": IsEqual(ID, "x")},
    {"relation": And(IsEqual(ID, "x"), IsEqual(Mobile, True))},
]


@pytest.mark.parametrize("place", range(1, len(ORDER)))
def test_the_most_specific_prior_wins_wherever_it_stands(place: int) -> None:
    priors = masses(*ORDER[: place + 1])
    assert value(priors, GolfBall) == Deterministic(place + 1.0)
    assert value(priors[::-1], GolfBall) == Deterministic(place + 1.0)


def test_a_deeper_subclass_is_more_specific() -> None:
    priors = [Prior(Heat, 1.0, entity_type=MagmaTile), Prior(Heat, 0.5, entity_type=FireTile)]
    assert value(priors, FireTile, Heat) == Deterministic(0.5)
    assert value(priors, MagmaTile, Heat) == Deterministic(1.0)
    with pytest.raises(InputError, match="equally specific for Heat of a FireTile"):
        value(priors, FireTile, Heat, "compat")


def test_factor_type_means_that_the_entity_has_it() -> None:
    priors = [Prior(Size, 0.5, factor_type=Charge)]
    assert value(priors, Ball, Size) == Deterministic(0.5)
    assert value(priors, MagmaTile, Size) is None
    assert value(priors, Ball, Size, "compat") is None


def test_a_prior_reaches_subclasses_of_its_factor() -> None:
    assert value([Prior(Heat, 0.2)], Stove, Embers) == Deterministic(0.2)
    assert value([Prior(Heat, 0.2)], Stove, Embers, "compat") is None
    assert value([Prior(Embers, 0.2)], MagmaTile, Embers) == Deterministic(0.2)


def test_ranks_of_compat_are_the_largest_of_their_parts() -> None:
    ranked = masses(
        {}, {"relation": IsEqual(Mobile, True)}, {"entity_type": Thing}, {"entity_type": Object}, {"entity_type": Ball}
    )
    assert [prior.specificity("compat")[0][0] for prior in ranked] == [1, 2, 4, 5, 6]
    assert Prior(Mass, 1.0, factor_type=Mass).specificity("compat")[0][0] == 3
    both = And(IsEqual(Label, "Ball"), IsEqual(Mobile, True))
    assert Prior(Mass, 1.0, relation=both).specificity("compat")[0][0] == 9
    either = Or(IsEqual(ID, "a"), IsEqual(Mobile, True))
    assert Prior(Mass, 1.0, relation=either).specificity("compat")[0][0] == 8


def test_conditions_hold_or_not() -> None:
    either = Or(IsEqual(Label, "Ball"), And(IsEqual(Mobile, False), IsEqual(Charge, -1.0)))
    priors = [Prior(Mass, 3.0, relation=either)]
    assert value(priors, Ball) == Deterministic(3.0)
    assert value(priors, Charger) == Deterministic(3.0)
    assert value(priors, GolfBall) is None
    assert either.specificity() == ((1, 0), (1, 0))


def test_ties_with_one_value_are_no_ties() -> None:
    assert value([Prior(Mass, 1.0), Prior(Mass, 1.0)], Ball) == Deterministic(1.0)
    noise = UniformNoise(0, 1)
    assert value([Prior(Mass, noise), Prior(Mass, UniformNoise(0, 1))], Ball) == noise


def test_a_tie_names_both_priors() -> None:
    first, second = Prior(Mass, 1.0, entity_type=Ball), Prior(Mass, UniformNoise(1, 2), entity_type=Ball)
    with pytest.raises(InputError, match="two priors are equally specific for Mass of a Ball") as told:
        value([first, second], Ball)
    assert str(first) in str(told.value)
    assert str(second) in str(told.value)
    assert str(first) == "Prior(Mass, 1.0, entity_type='Ball')"


def test_a_tie_below_a_more_specific_prior_is_no_tie() -> None:
    priors = [*masses({}, {}), Prior(Mass, 9.0, entity_type=Ball)]
    assert value(priors, Ball) == Deterministic(9.0)


def test_priors_are_written_and_read() -> None:
    for prior in (
        Prior(Position, RandomTopLocation(), entity_type=GolfBall),
        Prior("Friction", 0.3, factor_type="Heat", relation={"equal": ["Label", "SandTile"]}),  # pyright: ignore
        Prior(Mobile, Choice((True, False)), relation=Or(IsEqual(Charge, 1.0), And(IsEqual(Mass, 2.0)))),
        Prior(Position, (0.5, 0.25)),
        Prior("Shape", {"kind": "circle", "size": 0.4}),  # pyright: ignore[reportArgumentType]
    ):
        data = json.loads(json.dumps(prior.to_data()))
        assert read_prior(data, "here").to_data() == data == prior.to_data()
        assert read_prior(data, "here").value == prior.value
    assert Prior(Position, (0.5, 0.25)).value == Point((0.5, 0.25))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"target": "Mas", "value": 1}, "a prior: there is no factor 'Mas'; did you mean 'Mass'"),
        ({"target": "Mass", "value": "heavy"}, "the prior of Mass: Mass is 'heavy'"),
        ({"target": "Mass", "value": 1, "entity_type": "Bal"}, "no entity type 'Bal'; did you mean 'Ball'"),
        ({"target": "Mass", "value": 1, "factor_type": "Chage"}, "no factor 'Chage'"),
        ({"target": "Mass", "value": RandomTopLocation()}, "draws no value of a float"),
        ({"target": "Position", "value": UniformNoise(0, 1)}, "draws no value of a vector"),
        ({"target": "Shape", "value": UniformNoise(0, 1)}, "draws no value of a shape"),
        ({"target": "Order", "value": GaussianNoise(0, 1)}, "draws something else than whole numbers"),
        ({"target": "Mobile", "value": Choice((0, 1))}, "draws something else than True or False"),
        ({"target": "Mass", "value": {"noise": "Uniform"}}, "the prior of Mass: noise has no 'Uniform'"),
        ({"target": "Mass", "value": 1, "relation": {"equals": []}}, "the relation is .* it is {'equal'"),
        ({"target": "Mass", "value": 1, "relation": {"equal": ["Mass", "x"]}}, "IsEqual: Mass is 'x'"),
        ({"target": "Mass", "value": 1, "relation": {"and": []}}, "one relation or more"),
        ({"target": "Mass"}, "here: a prior is"),
        ({"target": "Label", "value": "x"}, "the prior of Label: ids and labels are given by the scene"),
        (["Mass", 1], "here: a prior is"),
        ({"target": "Mass", "value": 1, "kind": "Ball"}, "here: a prior is"),
    ],
)
def test_bad_input_is_told(given: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_prior(given, "here")


def test_friction_of_tiles_only() -> None:
    assert Prior(Friction, 0.1).factor_of(Ball) is None
    assert Prior(Order, 3).factor_of(Ball) is Order

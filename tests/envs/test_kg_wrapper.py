import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import gumption.envs  # noqa: F401  (registers)
from gumption.data import InputError
from gumption.envs.action_facts import ActionFacts, action_facts
from gumption.envs.halma import HALMAEnv
from gumption.envs.kg_wrapper import KGScores
from gumption.envs.wordcraft import LittleAlchemyEnv, WordCraftEnv, WordCraftVectorEnv, facts

PAIRS = ("combinesWith", "componentOf")
CARD_LABELS = ("", "red", "blue", "up", "down")


class Cards(gym.Env):
    """A person's own world: a card is shown, and the lever that it opens is pulled; three cards, or two steps."""

    vocabulary = CARD_LABELS
    action_space = spaces.Discrete(2)

    def __init__(self, picture=False):
        self.observation_space = spaces.Box(0, 1, (2,), np.float32) if picture else spaces.Discrete(2)
        self.picture, self.done = picture, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.card, self.done = int(self.np_random.integers(2)), 0
        return self.seen(), {"card": self.card}

    def step(self, action):
        right, self.done = action == self.card, self.done + 1
        self.card = int(self.np_random.integers(2))
        return self.seen(), float(right), self.done == 3, False, {"card": self.card}

    def seen(self):
        return np.eye(2, dtype=np.float32)[self.card] if self.picture else self.card


class TellingCards(Cards):
    def action_facts(self):
        return card_facts(None, self.card if not self.picture else self.seen())


def card_facts(env, observation):
    """(card, opens, lever) for each lever; of a batch, or of one observation, as numbers or as pictures."""
    card = np.asarray(observation)
    if card.dtype.kind == "f":
        card = card.argmax(-1)
    card = np.atleast_1d(card)
    return action_facts(("opens",), (len(card), 2), [(1 + card[:, None], np.array([[3, 4]]), 0)])


OPENS = [("red", "opens", "up"), ("blue", "opens", "down")]


@pytest.fixture
def cards(look_up):
    return look_up(OPENS, CARD_LABELS, ["opens"])


@pytest.fixture
def book_advice(book, look_up):
    world = WordCraftEnv(recipe_book=book)
    return look_up(facts(book, partition="all"), world.vocabulary, PAIRS)


class Constant:
    """Whatever is asked, these scores of each candidate."""

    def __init__(self, *row, relations=PAIRS):
        self.row, self.relations = np.array(row, dtype=np.float32), relations

    def score(self, facts):
        return np.broadcast_to(self.row, (*facts.subject.shape[:2], len(self.row)))


@pytest.mark.parametrize(("world", "pairs"), [(WordCraftEnv, PAIRS), (LittleAlchemyEnv, PAIRS[:1])])
def test_scores_are_those_of_the_facts_that_the_world_names(world, pairs, book, look_up):
    env = world(recipe_book=book)
    known = set(facts(book, partition="all"))
    env = KGScores(env, look_up(known, env.vocabulary, pairs))
    observation, _ = env.reset(seed=1)
    rng = np.random.default_rng(0)
    positive = 0
    for _ in range(200):
        assert observation in env.observation_space
        named = env.unwrapped.action_facts().labels(env.unwrapped.vocabulary)
        assert len(named) == len(observation["kg_scores"])
        for about, row in zip(named, observation["kg_scores"], strict=True):
            if not about:  # an empty slot, or, in the open-ended game, nothing to combine with yet
                assert not row.any()
            for fact in about:
                if len(fact) == 3 and fact[1] in pairs:
                    assert row[pairs.index(fact[1])] == (fact in known)
                    positive += fact in known
        observation, _, terminated, truncated, _ = env.step(int(rng.choice(np.flatnonzero(env.action_masks()))))
        if terminated or truncated:
            observation, _ = env.reset()
    assert positive > 50


def test_scores_stay_in_the_space():
    def four(env, observation):
        """Two candidates, the second of them nothing."""
        return action_facts("abcd", (1, 2), [(np.array([[1, 0]]), 3, 0)] * 4)

    env = KGScores(Cards(), Constant(np.nan, np.inf, -np.inf, 3.0, relations="abcd"), four, 5.0)
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    assert observation["kg_scores"].dtype == np.float32
    assert observation["kg_scores"].tolist() == [[-5.0, 5.0, -5.0, 3.0], [0.0] * 4]


def checked(env):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*different from the unwrapped version")
        check_env(env, skip_render_check=True)


def test_gymnasiums_checker_passes(book, book_advice, cards):
    checked(KGScores(WordCraftEnv(recipe_book=book), book_advice))
    checked(KGScores(HALMAEnv(num_mazes=2), Constant(0.5, 1.0, relations=("leadsTo", "indicates"))))
    checked(KGScores(TellingCards(), cards))
    checked(KGScores(Cards(picture=True), cards, facts=card_facts))


def test_a_vector_env_gives_what_single_envs_give(book, book_advice):
    single = SyncVectorEnv([lambda: KGScores(WordCraftEnv(recipe_book=book), book_advice) for _ in range(3)])
    inside, _ = single.reset(seed=2)
    outside = KGScores(SyncVectorEnv([lambda: WordCraftEnv(recipe_book=book) for _ in range(3)]), book_advice)
    seen, _ = outside.reset(seed=2)
    native = KGScores(WordCraftVectorEnv(3, recipe_book=book), book_advice)
    assert native.single_observation_space == single.single_observation_space == outside.single_observation_space
    assert native.observation_space == outside.observation_space
    for _ in range(12):
        for name, part in inside.items():
            assert np.array_equal(part, seen[name])
        assert seen in outside.observation_space
        actions = inside["action_mask"].argmax(1)
        inside, seen = single.step(actions)[0], outside.step(actions)[0]


def test_a_native_batch_is_scored(book, book_advice):
    env = KGScores(RecordEpisodeStatistics(WordCraftVectorEnv(5, recipe_book=book)), book_advice)
    observation, infos = env.reset(seed=0)
    for _ in range(10):
        assert observation in env.observation_space
        assert np.array_equal(observation["action_mask"], infos["action_mask"])
        told = env.unwrapped.action_facts()
        expected = book_advice.score(told)
        expected[((told.subject == 0) | (told.object == 0))[:, :, : len(PAIRS)]] = 0
        assert np.array_equal(observation["kg_scores"], expected)
        observation, _, _, _, infos = env.step(env.unwrapped.random_actions())


class HeldCards(TellingCards):
    """The card that is shown fills a role already, so the lever of the same number names it again."""

    def action_facts(self):
        return card_facts(None, self.card)._replace(chosen=np.array([[0, 1 + self.card]]))


class Noting(Constant):
    """Keeps the facts that it is asked about."""

    def score(self, facts):
        self.seen = facts
        return super().score(facts)


@pytest.mark.parametrize("vector", [SyncVectorEnv, AsyncVectorEnv])
def test_what_is_chosen_already_is_told_of_each_env(vector):
    advice = Noting(1.0, relations=("opens",))
    env = KGScores(vector([HeldCards] * 3), advice)
    try:
        _, infos = env.reset(seed=1)
        assert set(infos["card"].tolist()) == {0, 1}
        assert advice.seen.chosen.tolist() == [[0, 1 + card] for card in infos["card"].tolist()]
        *_, infos = env.step(np.zeros(3, dtype=int))
        assert advice.seen.chosen.tolist() == [[0, 1 + card] for card in infos["card"].tolist()]
    finally:
        env.close()


def test_what_is_chosen_already_is_told_of_the_last_observations():
    def held(env, observation):
        card = np.asarray(observation)
        return card_facts(env, card)._replace(chosen=1 + card[:, None])

    advice = Noting(1.0, relations=("opens",))
    env = KGScores(SyncVectorEnv([Cards] * 3, autoreset_mode=AutoresetMode.SAME_STEP), advice, facts=held)
    env.reset(seed=1)
    told = []
    advice.score = lambda facts: told.append(facts.chosen) or np.zeros((*facts.subject.shape[:2], 1))
    for _ in range(3):
        *_, infos = env.step(np.array([0, 1, 0]))
    assert told[-2].tolist() == [[1 + last["observation"]] for last in infos["final_obs"]]


def test_processes_are_asked(cards):
    env = KGScores(AsyncVectorEnv([TellingCards] * 2), cards)
    try:
        observation, infos = env.reset(seed=0)
        for _ in range(5):
            assert np.array_equal(observation["observation"], infos["card"])
            assert np.array_equal(observation["kg_scores"][:, :, 0].argmax(1), infos["card"])
            observation, _, _, _, infos = env.step(np.zeros(2, dtype=int))
    finally:
        env.close()


@pytest.mark.parametrize("mode", AutoresetMode)
def test_the_last_observation_of_an_episode_has_its_own_scores(mode, book, book_advice):
    env = KGScores(WordCraftVectorEnv(4, recipe_book=book, autoreset_mode=mode), book_advice)
    plain = WordCraftVectorEnv(4, recipe_book=book, autoreset_mode=AutoresetMode.DISABLED)
    observation, _ = env.reset(seed=3)
    plain.reset(seed=3)
    ended = False
    while not np.any(ended):
        actions = observation["action_mask"].argmax(1)
        observation, _, terminated, truncated, infos = env.step(actions)
        plain.step(actions)
        ended = terminated | truncated
    # `plain` still is where the episodes ended.
    told = plain.action_facts()
    expected = book_advice.score(told)
    expected[((told.subject == 0) | (told.object == 0))[:, :, : len(PAIRS)]] = 0
    assert ended.any()
    for i in np.flatnonzero(ended):
        last = infos["final_obs"][i] if mode == AutoresetMode.SAME_STEP else {k: v[i] for k, v in observation.items()}
        assert last in env.single_observation_space
        assert np.array_equal(last["kg_scores"], expected[i])
    if mode == AutoresetMode.SAME_STEP:
        assert [last is not None for last in infos["final_obs"]] == ended.tolist()
        assert np.array_equal(infos["_final_obs"], ended)


@pytest.mark.parametrize("picture", [False, True])
def test_a_function_names_the_facts_of_an_env_of_someone_else(picture, cards):
    env = KGScores(Cards(picture), cards, facts=card_facts, bound=1)
    observation, info = env.reset(seed=0)
    assert set(observation) == {"observation", "kg_scores"}
    total = 0.0
    for _ in range(3):
        assert observation["kg_scores"].tolist() == np.eye(2)[info["card"]][:, None].tolist()
        observation, reward, over, _, info = env.step(int(observation["kg_scores"].argmax()))
        total += reward
    assert over
    assert total == 3


@pytest.mark.parametrize("picture", [False, True])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_the_function_is_asked_about_a_batch_and_about_last_observations(mode, picture, cards):
    env = KGScores(SyncVectorEnv([lambda: Cards(picture)] * 3, autoreset_mode=mode), cards, facts=card_facts)
    env.reset(seed=1)
    ended = 0
    for _ in range(9):
        *_, infos = env.step(np.zeros(3, dtype=int))
        for last in infos.get("final_obs", []):
            card = last["observation"].argmax() if picture else last["observation"]
            assert last["kg_scores"][:, 0].tolist() == np.eye(2)[card].tolist()
            ended += 1
    assert ended == (9 if mode == AutoresetMode.SAME_STEP else 0)


def test_wrappers_between_are_looked_through(cards):
    observation, info = KGScores(TimeLimit(TellingCards(), 2), cards).reset(seed=5)
    assert observation["kg_scores"].argmax() == info["card"]


def test_the_learner_sees_the_parts_that_were_asked_for(book, book_advice):
    def names(*parts):
        env = KGScores(WordCraftEnv(recipe_book=book, features="onehot"), book_advice, observation=parts)
        observation, _ = env.reset(seed=0)
        assert observation in env.observation_space
        return set(observation)

    ids = {"goal_index", "table_index", "selection_index"}
    assert names("ids") == ids
    assert names("masks", "scores") == {"action_mask", "kg_scores"}
    assert names("features") == {"goal_features", "table_features", "selection_features"}
    assert len(names("ids", "features", "masks", "scores")) == 8


def test_parts_of_an_observation_that_is_no_dict(cards):
    scores = KGScores(Cards(), cards, facts=card_facts, observation=["scores"]).reset()[0]
    assert set(scores) == {"kg_scores"}
    ids = KGScores(Cards(), cards, facts=card_facts, observation=["ids"])
    assert set(ids.reset()[0]) == {"observation"}
    with pytest.raises(InputError, match="nothing of the observation is features: it has observation"):
        KGScores(Cards(), cards, facts=card_facts, observation=["features"])
    same = SyncVectorEnv([Cards], autoreset_mode=AutoresetMode.SAME_STEP)
    vector = KGScores(same, cards, facts=card_facts, observation=["ids"])
    vector.reset()
    for _ in range(3):
        *_, infos = vector.step(np.zeros(1, dtype=int))
    assert set(infos["final_obs"][0]) == {"observation"}


@pytest.mark.parametrize("parts", ["scores", ["ids", "words"]])
def test_unknown_parts_are_refused(parts, cards):
    with pytest.raises(InputError, match=r"a collection of some of ids, features, masks, scores|is a list of text"):
        KGScores(TellingCards(), cards, observation=parts)


def test_masks_are_those_of_the_env_below(book, book_advice, cards):
    env = KGScores(WordCraftEnv(recipe_book=book), book_advice)
    observation, _ = env.reset()
    assert np.array_equal(env.action_masks(), observation["action_mask"])
    assert not hasattr(KGScores(TellingCards(), cards), "action_masks")


def test_an_env_without_facts_and_function_is_refused(cards):
    with pytest.raises(InputError, match="has no action_facts"):
        KGScores(gym.make("CartPole-v1"), cards)
    with pytest.raises(InputError, match="has no action_facts"):
        KGScores(SyncVectorEnv([Cards]), cards)
    with pytest.raises(InputError, match="has no action_facts"):
        KGScores(gym.make_vec("CartPole-v1", vectorization_mode="vector_entry_point"), cards)


def test_an_end_that_nobody_can_be_asked_about_is_refused(cards):
    with pytest.raises(InputError, match="use autoreset_mode NEXT_STEP, or put KGScores around each single env"):
        KGScores(SyncVectorEnv([TellingCards], autoreset_mode=AutoresetMode.SAME_STEP), cards)


def test_an_advice_about_another_world_is_refused(book, book_advice, look_up):
    with pytest.raises(InputError, match="the advice scores opens, closes: every relation that is scored"):
        KGScores(TellingCards(), look_up(OPENS, CARD_LABELS, ["opens", "closes"]))
    other = look_up(OPENS, (*CARD_LABELS, "left"), ["opens"])
    refused = r"a vocabulary of 6 labels that is not the env's \(5\)"
    with pytest.raises(InputError, match=refused):
        KGScores(TellingCards(), other)
    with pytest.raises(InputError, match=refused):
        KGScores(SyncVectorEnv([TellingCards]), other)
    with pytest.raises(InputError, match="that is not the env's"):
        KGScores(WordCraftVectorEnv(2, recipe_book=book), other)


def test_scores_are_put_in_once(cards):
    with pytest.raises(InputError, match="has kg_scores already"):
        KGScores(KGScores(TellingCards(), cards), cards)


@pytest.mark.parametrize("bound", [0, -1.0, np.inf, np.nan])
def test_a_bound_that_bounds_nothing_is_refused(bound, cards):
    with pytest.raises(InputError, match=r"above 0 and finite|it is a finite number"):
        KGScores(TellingCards(), cards, bound=bound)


def test_a_spec_makes_the_same_env_with_the_same_advice(book, book_advice):
    env = KGScores(gym.make("gumption/WordCraft-v0", recipe_book=book), book_advice, bound=2.0, observation=["scores"])
    again = gym.make(env.spec)
    assert type(again) is type(env)
    assert again.observation_space == env.observation_space
    first, second = (each.reset(seed=3)[0]["kg_scores"] for each in (env, again))
    assert np.array_equal(first, second)
    assert first.any()
    checked(again)


@pytest.mark.parametrize("vector", [False, True])
def test_as_many_candidates_as_actions_are_asked_for(cards, vector):
    def three(env, observation):
        card = np.atleast_1d(observation)
        return action_facts(("opens",), (len(card), 3), [(1 + card[:, None], np.array([[3, 4, 4]]), 0)])

    env = SyncVectorEnv([Cards] * 2) if vector else Cards()
    with pytest.raises(InputError, match="function 'three' gave facts about 3 candidates, and the env has 2 actions"):
        KGScores(env, cards, facts=three)


def broken(told):
    """A function of a person's that gives what `told` makes of the right facts."""

    def mine(env, observation):
        return told(card_facts(env, observation))

    return mine


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (lambda facts: [("red", "opens", "up")], "function 'mine' gave list; it gives .*ActionFacts"),
        (lambda facts: facts._replace(subject=facts.subject[0]), r"gave subject with shape \(2, 1\)"),
        (lambda facts: facts._replace(object=facts.object[:, :1]), r"gave object with shape \(1, 1, 1\).*\(1, 2, 1\)"),
        (lambda facts: facts._replace(given=facts.given * np.nan), "gave given as float64; ids are integer arrays"),
        (lambda facts: facts._replace(given=[[[0], [0]]]), "gave given as list; ids are integer arrays"),
        (
            lambda facts: facts._replace(chosen=np.zeros((2, 1), int)),
            r"chosen as int64, shape \(2, 1\); it is \(1, C\)",
        ),
        (
            lambda facts: facts._replace(chosen=np.zeros(1, int)),
            r"chosen as int64, shape \(1,\); it is \(1, C\)",
        ),
        (lambda facts: facts._replace(chosen=np.zeros((1, 1))), r"gave chosen as float64, shape \(1, 1\); it is"),
        (lambda facts: facts._replace(chosen=[[1]]), r"gave chosen as list; it is \(1, C\) integers"),
        (lambda facts: facts._replace(relations=("shuts",)), "names the relations shuts, and the advice scores opens"),
        (lambda facts: 1 / 0, "function 'mine' raised ZeroDivisionError: division by zero"),
    ],
)
def test_what_is_wrong_with_a_function_is_told(told, message, cards):
    with pytest.raises(InputError, match=message):
        KGScores(Cards(), cards, facts=broken(told))


def test_facts_that_change_their_shape_are_refused_when_they_do(cards):
    def growing(env, observation):
        return card_facts(env, observation) if env.unwrapped.done == 0 else card_facts(env, np.zeros(2, dtype=int))

    env = KGScores(Cards(), cards, facts=growing)
    env.reset()
    with pytest.raises(InputError, match=r"shape \(2, 2, 1\); .* are \(1, 2, 1\)"):
        env.step(0)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (lambda facts: np.zeros((1, 2)), r"gives scores of shape \(1, 2\); .* are \(1, 2, 1\)"),
        (lambda facts: facts.subject[0, 0, 5], "the advice cannot score facts: IndexError"),
    ],
)
def test_what_is_wrong_with_an_advice_is_told(score, message, cards):
    cards.score = score
    with pytest.raises(InputError, match=message):
        KGScores(TellingCards(), cards)


def test_an_error_of_the_advice_about_input_stays_as_it_is(cards):
    def refuse(facts):
        raise InputError("not today")

    cards.score = refuse
    with pytest.raises(InputError, match=r"^not today$"):
        KGScores(TellingCards(), cards)


def test_facts_may_be_more_than_what_is_scored(book):
    env = KGScores(WordCraftEnv(recipe_book=book), Constant(1.0, relations=("componentOf",)))
    assert env.reset()[0]["kg_scores"].shape == (env.action_space.n, 1)
    assert isinstance(env.unwrapped.action_facts(), ActionFacts)

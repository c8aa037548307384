"""WordCraft in the browser, its Python half: what the page is shown, and what it may send."""

import pytest

from gumption.data import InputError
from gumption.envs.wordcraft import LittleAlchemyEnv, RecipeBook, WordCraftEnv
from gumption.scripts.people.web.episodes import Episode
from gumption.scripts.people.web.views import LISTED
from gumption.scripts.people.wordcraft import OPEN, VIEW, Face


def winning(env):
    return env.tasks[int(env.batch.task_index[0])].recipes[0][:2]


def test_the_drawing_follows_a_task_to_its_goal():
    env, face = VIEW.begin(seed=7)
    first, second = winning(env)
    before = VIEW.drawing(env)
    assert before["kind"] == "words"
    assert (len(before["table"]), before["selection"], before["made"], before["last"]) == (10, [], [], "")
    assert [choice["action"] for choice in VIEW.choices(env)] == before["table"]
    _, _, _, _, info = env.step(VIEW.parse(first, env))
    assert VIEW.drawing(env)["selection"] == [first]
    assert face.told(info, False) == ""
    _, reward, over, _, info = env.step(VIEW.parse(second, env))
    after = VIEW.drawing(env)
    assert (reward, over, after["made"], after["selection"]) == (1.0, True, [after["goal"]], [])
    assert face.told(info, True) == f"{first} + {second} makes {after['goal']}; that is the goal"


def test_two_recipes_of_a_goal_are_shown_alike_until_one_is_found():
    words = ["a", "b", "c", "mud"]

    def begun(second, kind, options, **settings):
        book = RecipeBook("small", words, [("mud", "a", second)])
        env = kind(render_mode="ansi", recipe_book=book, **settings)
        env.reset(seed=0, options=options)
        return Episode("", "", "wordcraft", VIEW, lambda seed: (env, Face(env)), {}, 0)

    task = {"goal": "mud", "table": ["a", "b", "c"]}
    one, other = (begun(second, WordCraftEnv, task, num_distractors=1, split="none") for second in "bc")
    assert one.shown() == other.shown()
    for episode in (one, other):
        episode.act("a")
    assert one.shown() == other.shown()
    one.act("b")
    other.act("b")
    assert (one.success, other.success) == (True, False)
    one, other = (begun(second, LittleAlchemyEnv, {}) for second in "bc")
    assert one.shown() == other.shown()


def test_rules_tell_how_many_tries_there_are():
    env, face = VIEW.begin(seed=1)
    assert "one try" in face.rules(env)
    env, face = VIEW.begin(depth=2, seed=1)
    assert "2 tries" in face.rules(env)


def test_the_open_game_counts_what_is_known():
    env, face = VIEW.begin(env=OPEN)
    before = VIEW.drawing(env)
    assert before["goal"] is None
    assert before["known"] == len(before["table"]) < before["total"]
    assert str(before["total"]) in face.rules(env)
    for word in ("earth", "water"):
        _, _, _, _, info = env.step(VIEW.parse(word, env))
    after = VIEW.drawing(env)
    assert after["known"] == before["known"] + len(after["made"]) > before["known"]
    assert set(after["made"]) <= set(after["table"])
    assert face.told(info, False) == after["last"] == f"earth + water makes {', '.join(after['made'])}"


def test_choices_are_listed_while_they_are_few():
    env, _ = VIEW.begin(env=OPEN)
    env.reset(options={"discovered": list(env.book.entities[: LISTED + 50])})
    assert VIEW.choices(env) == []


@pytest.mark.parametrize(
    ("action", "told"),
    [
        ("no such word", r"'no such word' is not on the table; choose one of the 10 words on it"),
        (3, r"the action is 3; it is a word on the table"),
        (["water"], r"it is a word on the table"),
    ],
)
def test_what_is_no_word_on_the_table_is_refused(action, told):
    env, _ = VIEW.begin(seed=7)
    with pytest.raises(InputError, match=told):
        VIEW.parse(action, env)


def test_typing_is_parsed_as_choosing():
    env, face = VIEW.begin(seed=7)
    word = VIEW.drawing(env)["table"][4]
    assert face.parse(f" {word} ", env) == VIEW.parse(word, env) == 4
    assert word in face.observe(env)

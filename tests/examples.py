"""Valid examples of what public functions take, for tests that change one argument at a time."""

from collections.abc import Callable
from functools import cache
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gumption import agents, kg
from gumption.agents.wordcraft.networks import EntityEncoder
from gumption.envs import gradual, halma, wordcraft
from gumption.envs.action_facts import ActionFacts, action_facts
from gumption.envs.halma.splits import Experience
from gumption.envs.record_memory import RecordMemory
from gumption.kg.links.nary_predictor import NarySettings
from gumption.kg.rules.horn import symmetric
from gumption.kg.scores import known_scores
from gumption.kg.store.limits import Limits
from tests import gradual_examples, segar_examples

FACTS = [("mud", "near", "sky"), ("sky", "near", "rain"), ("rain", "near", "mud"), ("mud", "on", "rain")]
LABELS = ("mud", "rain", "sky")
ROWS = [("mud", "water", "earth"), ("steam", "water", "fire"), ("brick", "mud", "fire"), ("geyser", "steam", "earth")]
PATH = [(0, 0), (1, 0), (2, 0), (2, 1)]
IDS = torch.zeros(2, dtype=torch.int64)
SMALL = NarySettings(width=4, hidden=4, epochs=1)
HALMA_RUN = agents.HALMAConfig(
    episodes=1, log_interval=1, num_mazes=1, max_opt_len=2, device="cpu",
    overrides=(("num_envs", 2), ("batch_size", 8), ("hidden_size", 8)),
)  # fmt: skip
STATE: dict[str, Callable[[], torch.Tensor]] = {
    "goal": lambda: torch.ones(1, dtype=torch.int64),
    "table": lambda: torch.ones(1, 2, dtype=torch.int64),
    "selection": lambda: torch.zeros(1, dtype=torch.int64),
}


@cache
def vectors() -> kg.WordVectors:
    return kg.WordVectors.load()


@cache
def complex_model() -> kg.ComplEx:
    return kg.ComplEx.fit(FACTS, rank=2, epochs=1, words=vectors())


@cache
def vocabulary() -> kg.Vocabulary:
    return kg.Vocabulary.from_triples(FACTS)


@cache
def nary_predictor() -> kg.NaryPredictor:
    return kg.NaryPredictor.fit(np.array([[0, 1, 2]]), np.eye(3), vocabulary(), members=1, settings=SMALL)


@cache
def pykeen_predictor() -> kg.PyKEENPredictor:
    return kg.fit_pykeen(FACTS, "DistMult", epochs=1, rank=2)


@cache
def book() -> wordcraft.RecipeBook:
    return wordcraft.RecipeBook("small", sorted({label for row in ROWS for label in row}), ROWS)


@cache
def maze() -> halma.Maze:
    return halma.Maze(PATH[0], PATH[-1], list(pairwise(PATH)))


@cache
def halma_memory() -> halma.Memory:
    row = halma.panel_row(maze(), PATH[0])[None]
    return halma.Memory.of(2, row, np.array([[2, 1, 0]]), halma.panel_row(maze(), PATH[1])[None])


@cache
def knowledge() -> halma.KnowledgeBases:
    return halma.KnowledgeBases.of(halma_memory(), 1)


def graph() -> kg.KnowledgeGraph:
    made = kg.KnowledgeGraph()
    made.add(FACTS, graph="kitchen")
    return made


def wordcraft_batch() -> wordcraft.WordCraftVectorEnv:
    made = wordcraft.WordCraftVectorEnv(2, recipe_book=book(), split="none", num_distractors=1)
    made.reset(seed=0)
    return made


def asked() -> ActionFacts:
    """What would speak for each of two choices in one environment."""
    return action_facts(("near",), (1, 2), [(np.array([[1, 2]]), 3, 0)])


def advice() -> agents.Advice:
    made = agents.Advice(graph(), ("", *LABELS), ("near",))
    made.score(asked())
    return made


class Asked:
    """An environment that only says what its choices are about."""

    def action_facts(self, chosen: Any = None) -> ActionFacts:
        return asked()


class PipelineResult:
    """What PyKEEN's pipeline gives."""

    def __init__(self) -> None:
        self.model, self.training = pykeen_predictor().model, graph().to_triples_factory()


def started(make: Callable[..., Any], *arguments: Any, **settings: Any) -> Callable[[], Any]:
    def begin() -> Any:
        env = make(*arguments, **settings)
        env.reset(seed=0)
        return env

    return begin


class Examples:
    """Objects of public classes and arguments of public functions.

    :ivar objects: class -> a function that makes an object of it; what a call may change is made each time.
    :ivar named: parameter -> its value in most functions; `special` has "function.parameter" where it is another.
    """

    def __init__(self, folder: Path) -> None:
        def file(name: str, text: str) -> Path:
            (folder / name).write_text(text)
            return folder / name

        steps = RecordMemory(wordcraft_batch(), folder / "lived")
        steps.reset(seed=0)
        steps.step(steps.unwrapped.random_actions())
        steps.close()
        complex_model().save(folder / "model")
        nary_predictor().save(folder / "nary")
        wordcraft.make_split(book(), "none").save(folder / "split.json")
        halma.Mazes([maze()]).save(folder / "mazes.jsonl")
        kg.DistMult.fit(FACTS, rank=2, epochs=1).save(folder / "dist")
        pykeen_predictor().save(folder / "pykeen")
        kg.export_pykeen(complex_model(), folder / "theirs")
        writer = halma.MemoryWriter(folder / "writer", 2)
        writer.append(*(halma_memory().records[name] for name in halma_memory().layout.names))
        writer.close()
        halma.Mazes([maze()]).save(folder / "writer" / "mazes.jsonl")
        trained = agents.train_halma(HALMA_RUN, folder / "halma", progress=False)
        halma.make_splits(halma.read_run(trained.run_dir), folder / "splits", mazes=1)
        lines = ["result\tingredient\tingredient", *map("\t".join, ROWS)]
        book_file = file("small.tsv", "\n".join(lines) + "\n")
        config = agents.TrainConfig(
            recipe_book=str(book_file), features="onehot", split="none",
            num_distractors=1, total_steps=1, eval_interval=1, final_draws=1, device="cpu",
            overrides=(("batch_size", 2), ("unroll_length", 1)),
        )  # fmt: skip
        agents.train_impala(config, folder / "run", progress=False)
        tsv = file("facts.tsv", "mud\tnear\tsky\n")
        network = agents.SelfAttentionActorCritic(EntityEncoder(torch.zeros(4, 2)), 2, 2)
        scores = known_scores({"near": np.array([[1, 0, 2]])}, ("mud", "rain", "sky"))
        quick = {"recipe_book": book(), "split": "none", "num_distractors": 1}
        calibration = kg.Calibration.fit(complex_model(), FACTS)
        self._count = count()
        self.objects: dict[Any, Callable[[], Any]] = {
            kg.F2: lambda: kg.F2(0.1),
            kg.N3: lambda: kg.N3(0.1),
            kg.Calibration: lambda: calibration,
            kg.ComplEx: complex_model,
            kg.DistMult: lambda: kg.DistMult.fit(FACTS, rank=2, epochs=1),
            kg.KnowledgeGraph: graph,
            kg.NaryPredictor: nary_predictor,
            kg.PyKEENPredictor: pykeen_predictor,
            kg.RelationScores: lambda: scores,
            kg.Vocabulary: vocabulary,
            kg.WordVectors: vectors,
            agents.Advice: advice,
            agents.KGPolicy: lambda: agents.KGPolicy(network, ["near"]),
            agents.SelfAttentionActorCritic: lambda: network,
            agents.TrainConfig: agents.TrainConfig,
            agents.HALMAConfig: agents.HALMAConfig,
            wordcraft.RecipeBook: book,
            wordcraft.Split: lambda: wordcraft.make_split(book(), "none"),
            wordcraft.TaskList: lambda: wordcraft.enumerate_tasks(book()),
            wordcraft.Task: lambda: wordcraft.enumerate_tasks(book())[0],
            wordcraft.Memory: lambda: wordcraft.Memory.load(folder / "lived"),
            wordcraft.WordCraftEnv: started(wordcraft.WordCraftEnv, **quick),
            wordcraft.WordCraftVectorEnv: wordcraft_batch,
            wordcraft.LittleAlchemyEnv: started(wordcraft.LittleAlchemyEnv, recipe_book=book()),
            wordcraft.LittleAlchemyVectorEnv: started(wordcraft.LittleAlchemyVectorEnv, 2, recipe_book=book()),
            **gradual_examples.OBJECTS,
            **segar_examples.OBJECTS,
            halma.HALMAEnv: started(halma.HALMAEnv, num_mazes=1),
            halma.HALMAVectorEnv: started(halma.HALMAVectorEnv, 2, num_mazes=1),
            halma.KnowledgeBases: knowledge,
            halma.Maze: maze,
            halma.Mazes: lambda: halma.Mazes([maze()]),
            halma.Memory: halma_memory,
            halma.MemoryWriter: lambda: halma.MemoryWriter(folder / f"writer{len(list(folder.iterdir()))}", 2),
            gradual.MemoryWriter: lambda: gradual.MemoryWriter(folder / f"steps{len(list(folder.iterdir()))}", ["a"]),
            halma.Splits: lambda: halma.Splits({}, {"tests": {}}),
        }
        row = halma.panel_row(maze(), PATH[0])
        self.named: dict[str, Any] = {
            **dict.fromkeys(("facts", "triples", "test", "held_out", "graph_or_triples"), FACTS),
            **dict.fromkeys(("fact", "triple"), FACTS[0]),
            **dict.fromkeys(("subjects", "relations", "objects", "heads", "tails", "first", "second", "product"), IDS),
            **dict.fromkeys(("columns",), np.zeros(1, dtype=np.int64)),
            "labels": ["mud"], "targets": ["mud"],
            **dict.fromkeys(("graph", "name"), "kitchen"),
            **dict.fromkeys(("a", "b", "goal", "target"), np.ones(1, dtype=np.int16)),
            "rules": [symmetric("near")], "label": "mud", "run": "ada", "weight": 0.1, "factor": torch.ones(2, 2),
            "split": "all", "mode": "ansi", "i": 0, "words": None, "path": tsv, "paths": [tsv], "links": [],
            "weights": [1.0] * 4, "model": "DistMult", "about": {"title": "x"}, "sparql": "ASK { ?s ?p ?o }",
            "limits": Limits(), "read": bool, "rows": np.array([[0, 1, 2]]), "value": {}, "entities": ["mud", "rain"],
            "env": Asked(), "b": 0, "action": 0, "actions": np.zeros(2, dtype=np.int64), "max_opt_len": 2,
            "rng": np.random.default_rng(0), "cell": PATH[0], "rank": 3, "count": 1, "seed": 0, "generator": None,
            "vectors": np.eye(3), "start": PATH[0], "edges": list(pairwise(PATH)), "mazes": [maze()], "maze": maze(),
            "m": 0,
            "index": 0, "d1": 3, "d2": 2, "device": "cpu", "side": "object", "relation": 0, "partition": "train",
            "threshold": 1, "episode": np.zeros(2, dtype=np.int64), "layout": halma_memory().layout,
            "knowledge": knowledge(), "training": [maze()],
            "experience": Experience(knowledge(), halma.Mazes([maze()]), None),
            "before": row[None], "after": row[None], "option": np.array([[2, 1, 0]]), "depth": 1, "shortcuts": False,
            "ids": np.array([[0, 0, 1]]), "what": "facts",
            "env_id": 1, "env_ids": [1], "wanted": np.ones((1, 1), dtype=np.int16), "book": book(),
            "splits": halma.Splits({}, {"tests": {}}),
            "task_indices": np.zeros(1, dtype=np.int64), "indices": np.zeros(1, dtype=np.int64),
            "memory": halma_memory(),
            "summary": torch.zeros(1, 2), "encoder": EntityEncoder(torch.zeros(4, 2)), "attention": network,
            "channels": ["near"], "vocabulary": vocabulary(), "predictor": complex_model(), "scorers": {},
            "source": complex_model(), "config": config, "dataset": (None, None),
        }  # fmt: skip

        def array(*values: Any, kind: Any = np.int64) -> Callable[[], np.ndarray]:
            return lambda: np.array(values, dtype=kind)

        def known() -> kg.KnowledgeGraph:
            made = graph()
            knowledge().add_to(made, "ada")
            return made

        (folder / "fetched").mkdir()
        (folder / "fetched" / "wn3.1.dict.tar.gz").write_text("")
        file("rules.json", '{"rules": [{"symmetric": "near"}]}')
        #: call -> parameter -> a function that makes its value, where it is another than in most functions
        self.special: dict[str, dict[str, Callable[[], Any]]] = {
            "data.fetch": {"name": lambda: "wordnet"},
            "data.path": {"name": lambda: "commonsense"},
            "kg.add_links": {"graph": graph},
            "kg.add_weighted": {"graph": graph},
            "kg.fact_weights": {"graph": graph},
            "kg.explain": {"graph": graph},
            "kg.infer": {"graph": graph},
            "kg.mine_rules": {"facts": graph},
            "kg.read_rules": {"path": lambda: folder / "rules.json"},
            "kg.import_atomic2020": {"graph": graph, "paths": lambda: [file("atomic.tsv", "mud\tObjectUse\twalls\n")]},
            "kg.import_conceptnet": {"graph": graph, "path": lambda: file("c.tsv", "mud\tisa\tdirt\n")},
            "kg.fit_pykeen": {"epochs": lambda: 1, "rank": lambda: 2},
            "kg.ComplEx.fit": {"epochs": lambda: 1, "rank": lambda: 2},
            "kg.DistMult.fit": {"epochs": lambda: 1, "rank": lambda: 2},
            "kg.ComplEx.load": {"directory": lambda: folder / "model"},
            "kg.DistMult.load": {"directory": lambda: folder / "dist"},
            "kg.NaryPredictor.load": {"directory": lambda: folder / "nary"},
            "kg.NaryPredictor.of_tensors": {
                "vocabulary": lambda: nary_predictor().vocabulary,
                "tensors": nary_predictor().networks.state_dict,
                "device": lambda: torch.device("cpu"),
            },
            "kg.PyKEENPredictor.load": {"directory": lambda: folder / "pykeen"},
            "kg.load_predictor": {"directory": lambda: folder / "model"},
            "kg.Calibration.load": {"directory": lambda: folder / "model"},
            "kg.load_pykeen": {"folder": lambda: folder / "theirs"},
            "kg.export_pykeen": {"model": complex_model},
            "kg.ComplEx.predict": {"subject": lambda: "mud", "relation": lambda: "near"},
            "kg.ComplEx.tensors": {"entities": lambda: 3, "relations": lambda: 2, "generator": torch.Generator},
            "kg.DistMult.tensors": {"entities": lambda: 3, "relations": lambda: 2, "generator": torch.Generator},
            "kg.FactorModel.tensors": {"entities": lambda: 3, "relations": lambda: 2, "generator": torch.Generator},
            "kg.DistMult.__init__": {"entity": lambda: torch.zeros(3, 2), "relation": lambda: torch.zeros(4, 2)},
            "kg.RelationScores.__init__": {"scorers": dict},
            "kg.KnowledgeGraph.from_networkx": {"network": lambda: graph().to_networkx()},
            "kg.KnowledgeGraph.save": {"path": lambda: Path("new.tsv")},
            "kg.import_wordnet": {"graph": graph},
            "kg.ComplEx.extended": {"labels": lambda: ["fire"], "words": vectors},
            "kg.NaryPredictor.fit": {"settings": lambda: SMALL, "members": lambda: 1},
            "kg.NaryPredictor.fit_folds": {
                "rows": array([0, 1, 2], [1, 2, 0]),
                "fold_of_row": array(0, 1),
                "settings": lambda: SMALL,
                "members": lambda: 1,
            },
            "kg.NaryPredictor.log_probability": {"normalisers": lambda: torch.zeros(2, 1)},
            "kg.PyKEENPredictor.__init__": {"vocabulary": lambda: pykeen_predictor().vocabulary},
            "kg.PyKEENPredictor.from_result": {"result": PipelineResult},
            "kg.RelationScores.action_scores": {"facts": asked},
            "kg.Vocabulary.from_json": {"value": lambda: vocabulary().to_json()},
            "kg.Vocabulary.ids_to_triples": {"ids": array([0, 0, 1])},
            "kg.Vocabulary.relation_id": {"label": lambda: "near"},
            "kg.Vocabulary.relation_ids": {"labels": lambda: ["near"]},
            "agents.Advice.__init__": {
                "vocabulary": lambda: ["", "mud"],
                "relations": lambda: ["near"],
                "source": graph,
            },
            "agents.Advice.score": {"facts": asked},
            "agents.Advice.why": {"a": int},
            "agents.Advice.edges": {"a": int},
            "agents.evaluate": {
                "run": lambda: folder / "run",
                "recipe_book": lambda: str(book_file),
                "partition": lambda: "train",
            },
            "agents.train_impala": {"progress": lambda: False},
            "agents.train_halma": {"config": lambda: HALMA_RUN, "progress": lambda: False},
            "agents.HALMAConfig.from_json": {"value": HALMA_RUN.to_json},
            "agents.TrainConfig.from_json": {"value": lambda: agents.TrainConfig().to_json()},
            "agents.SelfAttentionActorCritic.forward": STATE | {"scores": lambda: torch.zeros(1, 2, 1)},
            "agents.SelfAttentionActorCritic.read": STATE,
            "agents.KGPolicy.forward": {"state": lambda: (*(make() for make in STATE.values()), torch.zeros(1, 2, 1))},
            "agents.KGPolicy.begin": {
                "attention": lambda: torch.zeros(1, 2),
                "scores": lambda: torch.zeros(1, 2, 1),
                "choices": lambda: None,
            },
            "agents.KGPolicy.prior": {"readout": lambda: agents.policy.Readout(*torch.zeros(3, 1, 2))},
            "envs.wordcraft.RecipeBook.__init__": {
                "name": lambda: "small",
                "entities": lambda: book().entities,
                "rows": lambda: ROWS,
            },
            "envs.wordcraft.RecipeBook.load": {"source": lambda: "commonsense"},
            "envs.wordcraft.RecipeBook.products": {"a": lambda: 1, "b": lambda: 2},
            "envs.wordcraft.RecipeBook.choose": {"code": array(0, kind=np.int16)},
            "envs.wordcraft.RecipeBook.makes": {"b": array(1, kind=np.int16)},
            "envs.wordcraft.RecipeBook.mix": {"b": array(1, kind=np.int16)},
            "envs.wordcraft.make_split": {"mode": lambda: "none"},
            "envs.wordcraft.Split.save": {"path": lambda: Path("new.json")},
            "envs.halma.Mazes.ahead": {"distance": lambda: 2},
            "envs.halma.Mazes.save": {"path": lambda: Path("new.jsonl")},
            "envs.wordcraft.Memory.read": {
                "folder": lambda: folder / "lived",
                "layout": lambda: self.objects[wordcraft.Memory]().layout,
            },
            "envs.wordcraft.Split.load": {"path": lambda: folder / "split.json"},
            "envs.wordcraft.Memory.load": {"folder": lambda: folder / "lived"},
            "envs.wordcraft.Memory.LAYOUT": {"slots": lambda: 3, "book": lambda: "x"},
            "envs.wordcraft.add_memory": {"graph": graph, "memory": self.objects[wordcraft.Memory]},
            "envs.wordcraft.memory_facts": {"memory": self.objects[wordcraft.Memory]},
            "envs.wordcraft.memory_evidence": {"memory": self.objects[wordcraft.Memory]},
            "envs.wordcraft.Split.of": {"kind": lambda: "tasks", "part": lambda: "train"},
            "envs.wordcraft.RecipeBook.goes_into": {"mixes": lambda: 1},
            "envs.wordcraft.RecipeBook.only": {"recipes": lambda: book().recipes[:1]},
            "envs.wordcraft.WordCraftVectorEnv.load_state_dict": {"state": lambda: wordcraft_batch().state_dict()},
            "envs.wordcraft.WordCraftVectorEnv.set_up": {
                "options": lambda: {"goal": "mud", "table": ["water", "earth"]}
            },
            "envs.wordcraft.LittleAlchemyVectorEnv.load_state_dict": {
                "state": lambda: self.objects[wordcraft.LittleAlchemyVectorEnv]().state_dict()
            },
            "envs.wordcraft.LittleAlchemyVectorEnv.set_up": {"options": lambda: {"discovered": ["mud"]}},
            **gradual_examples.SPECIAL,
            **segar_examples.SPECIAL,
            "envs.halma.HALMAEnv.step": {"action": array(0, 1, 0, 0, 0, 0)},
            "envs.halma.HALMAVectorEnv.move": {"options": lambda: np.zeros((2, 6), dtype=np.int64)},
            "envs.halma.HALMAVectorEnv.step": {"actions": lambda: np.zeros((2, 6), dtype=np.int64)},
            "envs.halma.HALMAVectorEnv.step_arrays": {"actions": lambda: np.zeros((2, 6), dtype=np.int64)},
            "envs.halma.HALMAVectorEnv.outcome": {
                "before": lambda: (np.zeros((2, 11), dtype=np.int8), np.zeros(2, dtype=int), np.zeros(2, dtype=int))
            },
            "envs.halma.HALMAVectorEnv.set_up": {"options": lambda: {"maze": 0}},
            "envs.halma.HALMAVectorEnv.load_state_dict": {
                "state": lambda: self.objects[halma.HALMAVectorEnv]().state_dict()
            },
            "envs.halma.HALMAVectorEnv.pictures": {"places": array(0)},
            "envs.halma.KnowledgeBases.add_to": {"graph": graph},
            "envs.halma.KnowledgeBases.from_graph": {"graph": known, "name": lambda: "halma/ada"},
            "envs.halma.Maze.__init__": {"goal": lambda: PATH[-1]},
            "envs.halma.Maze.from_json": {"value": lambda: maze().to_json()},
            "envs.halma.Mazes.load": {"path": lambda: folder / "mazes.jsonl"},
            "envs.halma.Memory.load": {"folder": lambda: folder / "writer"},
            "envs.halma.read_memory": {"folder": lambda: folder / "writer"},
            "envs.halma.Memory.read": {"folder": lambda: folder / "writer"},
            "envs.halma.MemoryWriter.append": {
                "fields": lambda: tuple(halma_memory().records[name] for name in halma_memory().layout.names)
            },
            "envs.halma.check_splits": {
                "splits": lambda: halma.load_splits(folder / "splits"),
                "knowledge": lambda: halma.read_run(folder / "halma").knowledge,
            },
            "envs.halma.load_splits": {"folder": lambda: folder / "splits"},
            "envs.halma.read_run": {"run": lambda: folder / "halma"},
            "envs.halma.one_hot": {"rows": lambda: row},
            "envs.halma.rank_of_path": {"path": lambda: PATH},
            "envs.halma.make_splits": {"folder": lambda: Path("splits"), "mazes": lambda: 1, "force": lambda: True},
        }

    def argument(self, call: str, parameter: str, owner: Any) -> Any:
        """A value that this parameter of a function can have: what is told of the function, or an object of the class
        has as an attribute of that name, or most functions take.
        """
        if parameter in self.special.get(call, {}):
            return self.special[call][parameter]()
        if call.endswith("__init__") and hasattr(example := self.objects[owner](), parameter):
            return getattr(example, parameter)
        if parameter in ("folder", "directory", "run_dir"):
            return Path(f"new{next(self._count)}")  # in the working folder
        if parameter not in self.named:
            raise LookupError(f"tests/examples.py has no example of {parameter}, which {call} needs")
        return self.named[parameter]

    def besides(self, call: str) -> dict[str, Any]:
        """Arguments that a call needs besides those without a default."""
        return {name: make() for name, make in self.special.get(call, {}).items()}

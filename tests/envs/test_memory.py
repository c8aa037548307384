"""Memories of any layout: what is written is read back, and one writer at a time has a memory open."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.envs.memory import Layout, TransitionMemory, TransitionWriter

TYPES = ("i1", "u1", "<i2", "<i4", "<i8", "<f4", "<f8")
FIELD = st.tuples(st.sampled_from(TYPES), st.lists(st.integers(1, 3), max_size=2))


def made_of(fields: list[tuple[str, list[int]]]) -> Layout:
    named = [(f"field{k}", kind, tuple(shape)) for k, (kind, shape) in enumerate(fields)]
    return Layout("gumption/test-memory/1", named, {"size": len(fields)} if len(fields) > 2 else {})


@settings(max_examples=25, deadline=None)
@given(st.lists(FIELD, min_size=1, max_size=5), st.lists(st.integers(0, 9), max_size=5), st.integers(0, 99))
def test_records_of_any_layout_are_read_back(fields, batches, seed):
    layout, rng, count = made_of(fields), np.random.default_rng(seed), sum(batches)
    arrays = [rng.integers(0, 100, (count, *shape)).astype(kind) for _, kind, shape in layout.fields]
    with tempfile.TemporaryDirectory() as folder:
        with TransitionWriter(folder, layout) as writer:
            done = 0
            for batch in batches:
                writer.append(*(array[done : done + batch] for array in arrays))
                done += batch
        memory = TransitionMemory.read(folder, layout)
        assert (len(memory), memory.lost) == (count, 0)
        for name, array in zip(layout.names, arrays, strict=True):
            np.testing.assert_array_equal(memory.records[name], array)
        made = TransitionMemory(layout.records(count, **dict(zip(layout.names, arrays, strict=True))), layout)
        assert made.fingerprint == memory.fingerprint
        with TransitionWriter(folder, layout, keep=count) as writer:
            writer.append(*arrays)
        assert len(TransitionMemory.read(folder, layout)) == 2 * count


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    layout = made_of([("i1", [])])
    with TransitionWriter(tmp_path, layout) as writer:
        writer.append(np.ones(3))
        with pytest.raises(InputError, match="another writer has this memory open"):
            TransitionWriter(tmp_path, layout, keep=0)
    with TransitionWriter(tmp_path, layout, keep=3) as writer:
        assert writer.count == 3


def test_a_memory_of_other_settings_is_told(tmp_path: Path) -> None:
    fields = [("a", "i1")]
    TransitionWriter(tmp_path, Layout("s/1", fields, {"size": 2})).close()
    with pytest.raises(InputError, match="a memory of size 2, not size 3; choose another folder"):
        TransitionMemory.read(tmp_path, Layout("s/1", fields, {"size": 3}))
    with pytest.raises(InputError, match="a memory of schema 's/1', and 's/2' is read here"):
        TransitionMemory.read(tmp_path, Layout("s/2", fields, {"size": 2}))

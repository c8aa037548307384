"""MEM: what is written is read back, whatever the batches, and a crash costs what was not flushed and nothing else."""

import json
import signal
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.data.sealed import write_sealed
from gumption.envs.halma.memory import HEADER, REACHED, RECORDS, TRIAL_OVER, VALID, Memory, MemoryWriter

SIZE = 43  # bytes of a record with max_opt_len 5: 11 + 6 + 11 + 4 + 2 + 4 + 1 and a checksum of 4
NAMES = ("before", "option", "after", "maze", "trial", "episode", "flags")


def transitions(count: int, max_opt_len: int = 5, seed: int = 0) -> list[np.ndarray]:
    """Arrays for `append`, with the extremes that each field has to hold."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-9, 10, (2, count, 11)).astype(np.int8)
    option = rng.integers(0, 4, (count, 1 + max_opt_len))
    maze, episode = rng.integers(0, 2**31, (2, count))
    trial, flags = rng.integers(0, 2**15, count), rng.integers(0, 256, count)
    return [rows[0], option, rows[1], maze, trial, episode, flags]


def write(folder: Path, fields: list[np.ndarray], batches: list[int], **settings) -> None:
    with MemoryWriter(folder, fields[1].shape[1] - 1, **settings) as writer:
        done = writer.count
        for batch in batches:
            writer.append(*(field[done : done + batch] for field in fields))
            done += batch
            assert writer.count == min(done, len(fields[0]))


def assert_same(memory: Memory, fields: list[np.ndarray]) -> None:
    for name, field in zip(NAMES, fields, strict=True):
        np.testing.assert_array_equal(getattr(memory, name), field, err_msg=name)


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """A memory of three records."""
    write(tmp_path / "memory", transitions(3), [3])
    return tmp_path / "memory"


def test_a_record_has_its_bytes_in_the_order_of_the_header_and_a_crc_32(three):
    fields = transitions(3)
    content = (three / RECORDS).read_bytes()
    assert len(content) == 3 * SIZE
    for i in range(3):
        record = content[i * SIZE : (i + 1) * SIZE]
        expected = [
            *(fields[k][i].astype("i1").tobytes() for k in range(3)),
            *(int(fields[k][i]).to_bytes(width, "little") for k, width in ((3, 4), (4, 2), (5, 4), (6, 1))),
        ]
        assert record[:-4] == b"".join(expected)
        assert int.from_bytes(record[-4:], "little") == zlib.crc32(record[:-4])
    header = json.loads((three / HEADER).read_text())
    assert header["max_opt_len"] == 5
    assert header["record_bytes"] == SIZE
    assert [field[0] for field in header["fields"]] == [*NAMES, "checksum"]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 9), max_size=8), st.sampled_from([1, 3, 5]), st.integers(0, 99))
def test_what_was_appended_in_any_batches_is_read_back(batches, max_opt_len, seed):
    fields = transitions(sum(batches), max_opt_len, seed)
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "memory", fields, batches)
        memory = Memory.load(Path(folder) / "memory")
    assert (len(memory), memory.lost, memory.lost_bytes) == (sum(batches), 0, 0)
    assert memory.warning is None
    assert memory.max_opt_len == max_opt_len
    assert_same(memory, fields)


def test_batches_beyond_what_waits_in_memory(tmp_path):
    fields = transitions(20_001)
    write(tmp_path / "a", fields, [1, 4095, 1, 9000, 0, 4000, 10_000])
    write(tmp_path / "b", fields, [20_001])
    assert_same(Memory.load(tmp_path / "a"), fields)
    assert (tmp_path / "a" / RECORDS).read_bytes() == (tmp_path / "b" / RECORDS).read_bytes()


def test_what_a_memory_tells_of_its_moves():
    rows = np.zeros((3, 11), dtype=np.int8)
    options = [[0, 2, 0, 3], [3, 0, 0, 0], [2, 1, 1, 1]]
    memory = Memory.of(3, rows, options, rows, flags=[VALID | REACHED | TRIAL_OVER, TRIAL_OVER, VALID])
    assert memory.direction.tolist() == [0, 3, 2]
    assert memory.length.tolist() == [5, 0, 3]
    assert memory.valid.tolist() == [True, False, True]


def test_the_fingerprint_is_of_the_content(tmp_path):
    fields = transitions(50)
    write(tmp_path / "a", fields, [50])
    write(tmp_path / "b", fields, [20, 30])
    prints = {Memory.load(tmp_path / name).fingerprint for name in "ab"} | {Memory.of(5, *fields).fingerprint}
    assert len(prints) == 1
    fields[3][49] ^= 1
    assert Memory.of(5, *fields).fingerprint not in prints
    empty = np.zeros((0, 11), dtype=np.int8)
    of_lengths = {Memory.of(t, empty, np.zeros((0, 1 + t)), empty).fingerprint for t in (3, 5)}
    assert len(of_lengths) == 2


def test_a_memory_cut_at_any_byte_has_the_whole_records_before(three):
    path, fields = three / RECORDS, transitions(3)
    content = path.read_bytes()
    for cut in range(len(content) + 1):
        path.write_bytes(content[:cut])
        memory = Memory.load(three)
        whole, rest = divmod(cut, SIZE)
        assert (len(memory), memory.lost, memory.lost_bytes) == (whole, int(rest > 0), rest)
        assert_same(memory, [field[:whole] for field in fields])
        if rest:
            assert memory.warning == (
                f"{path}: the end was cut short, as by a crash; records lost: 1 ({rest} bytes left of them), "
                f"whole records kept: {whole}"
            )
    path.unlink()  # a crash between the header and the first record
    assert len(Memory.load(three)) == 0


@pytest.mark.parametrize("end", [bytes(100), b"\xff" * 100])
def test_an_end_that_the_disk_never_got_is_lost(three, end):
    with (three / RECORDS).open("ab") as file:
        file.write(end)
    memory = Memory.load(three)
    assert (len(memory), memory.lost, memory.lost_bytes) == (3, 3, 100)
    assert_same(memory, transitions(3))


def test_any_damaged_byte_in_the_middle_is_found(three):
    path = three / RECORDS
    content = path.read_bytes()
    for place in range(SIZE, 2 * SIZE):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :])
        with pytest.raises(InputError, match=r"records.bin: record 1 \(bytes 43 to 85\) is damaged, and whole ones"):
            Memory.load(three)


def test_a_damaged_last_record_is_lost(three):
    path = three / RECORDS
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    memory = Memory.load(three)
    assert (len(memory), memory.lost, memory.lost_bytes) == (2, 1, SIZE)


WRITER = """
import sys
import numpy as np
from gumption.envs.halma.memory import MemoryWriter

writer = MemoryWriter(sys.argv[1], 5)
i = 0
while True:
    for _ in range(40):
        ids = np.arange(i, i + 37)
        rows = np.stack([ids % (k + 2) for k in range(11)], axis=1)
        writer.append(rows, rows[:, :6] % 4, rows[::-1], ids, ids % 10, ids // 7, ids % 8)
        i += 37
    writer.flush()
    print(writer.count, flush=True)
"""


def test_a_writer_that_is_killed_leaves_all_that_was_flushed(tmp_path):
    command = [sys.executable, "-c", WRITER, str(tmp_path / "memory")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(8):
            flushed = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read().split()
    assert process.returncode == -signal.SIGKILL
    flushed = int(rest[-1]) if rest else flushed
    memory = Memory.load(tmp_path / "memory")
    assert len(memory) >= flushed >= 8 * 40 * 37
    ids = np.arange(len(memory))
    np.testing.assert_array_equal(memory.maze, ids)
    np.testing.assert_array_equal(memory.before, np.stack([ids % (k + 2) for k in range(11)], axis=1))
    # The run goes on from its last checkpoint as if nothing had happened.
    with MemoryWriter(tmp_path / "memory", 5, keep=flushed) as writer:
        assert writer.count == flushed
        writer.append(*transitions(10))
    again = Memory.load(tmp_path / "memory")
    assert (len(again), again.lost) == (flushed + 10, 0)
    np.testing.assert_array_equal(again.maze[:flushed], ids[:flushed])


def test_a_run_that_resumes_writes_what_it_would_have_written(tmp_path):
    fields = transitions(9000)
    write(tmp_path / "whole", fields, [9000])
    write(tmp_path / "resumed", fields, [7000])
    write(tmp_path / "resumed", fields, [4000], keep=5000)
    assert (tmp_path / "resumed" / RECORDS).read_bytes() == (tmp_path / "whole" / RECORDS).read_bytes()
    write(tmp_path / "resumed", transitions(2, 3), [2], keep=0)  # from the beginning
    assert_same(Memory.load(tmp_path / "resumed"), transitions(2, 3))


def test_going_on_before_a_torn_end(three):
    with (three / RECORDS).open("ab") as file:
        file.write(b"torn")
    more = [np.concatenate(pair) for pair in zip(transitions(3), transitions(2, seed=1), strict=True)]
    write(three, more, [2], keep=3)
    memory = Memory.load(three)
    assert (len(memory), memory.lost) == (5, 0)
    assert_same(memory, more)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_opt_len": 5}, "holds a memory already; go on with it"),
        ({"max_opt_len": 5, "keep": 4}, "the checkpoint goes on from record 4, and the memory has 3 whole ones"),
        ({"max_opt_len": 3, "keep": 2}, "a memory of max_opt_len 5, not max_opt_len 3; choose another folder"),
        ({"max_opt_len": 0}, "max_opt_len is 0; it is a whole number from 1 to 100"),
    ],
)
def test_a_writer_that_does_not_fit_changes_nothing(three, settings, message):
    before = [(three / name).read_bytes() for name in (HEADER, RECORDS)]
    with pytest.raises(InputError, match=message):
        MemoryWriter(three, **settings)
    assert [(three / name).read_bytes() for name in (HEADER, RECORDS)] == before


def test_a_run_without_memory_is_told_what_to_do(tmp_path):
    with pytest.raises(
        InputError,
        match=r"no memory of transitions there \(header.json is missing\); RecordMemory\(env, folder\) writes",
    ):
        Memory.load(tmp_path / "memory")
    with pytest.raises(InputError, match="no memory"):
        MemoryWriter(tmp_path / "memory", 5, keep=1)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("{", r"header.json: not valid JSON \("),
        (
            '{"schema": "gumption/halma-memory/2"}',
            "a memory of schema 'gumption/halma-memory/2', and 'gumption/halma-memory/1' is read here",
        ),
        ("[]", "a memory of schema None"),
        ('{"schema": "gumption/halma-memory/1"}', "its settings and record_bytes do not fit together"),
        (
            '{"schema": "gumption/halma-memory/1", "max_opt_len": 3, "record_bytes": 43}',
            "its settings and record_bytes do not fit together",
        ),
    ],
)
def test_a_header_that_is_wrong(three, header, message):
    if header.startswith('{"'):
        write_sealed(three / HEADER, json.loads(header))
    else:
        (three / HEADER).write_text(header)
    with pytest.raises(InputError, match=message):
        Memory.load(three)


def test_what_cannot_be_read_or_written(three, tmp_path):
    (three / RECORDS).unlink()
    (three / RECORDS).mkdir()
    with pytest.raises(InputError, match=r"cannot read .*records.bin: Is a directory"):
        Memory.load(three)
    with pytest.raises(InputError, match=r"cannot write .*records.bin: Is a directory"):
        MemoryWriter(three, 5, keep=0)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot write"):
        MemoryWriter(tmp_path / "file" / "memory", 5)


FULL = """
import resource, sys
import numpy as np
from gumption.data import InputError
from gumption.envs.halma.memory import MemoryWriter

resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
writer = MemoryWriter(sys.argv[1], 5)
rows = np.ones((100, 11), dtype=np.int8)
writer.append(rows, rows[:, :6], rows, rows[:, 0], rows[:, 0], rows[:, 0], rows[:, 0])
try:
    writer.flush()
except InputError as error:
    print(error)
if len(sys.argv) > 2:  # somebody makes room
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    writer.close()
"""


def test_a_full_disk_is_told_and_what_fits_is_there(tmp_path):
    command = [sys.executable, "-c", FULL, str(tmp_path / "memory")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"cannot write {tmp_path / 'memory' / RECORDS}: File too large\n"
    memory = Memory.load(tmp_path / "memory")
    assert (len(memory), memory.lost, memory.lost_bytes) == (23, 1, 1000 - 23 * SIZE)
    subprocess.run([*command[:3], str(tmp_path / "other"), "room"], capture_output=True, check=True)
    memory = Memory.load(tmp_path / "other")
    assert (len(memory), memory.lost) == (100, 0)

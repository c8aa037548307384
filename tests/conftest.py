"""What all tests share: no network, one thread per worker, and the folder of real data that is not part of gumption."""

import os
import tempfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]

os.environ["GUMPTION_OFFLINE"] = "1"
os.environ.setdefault("MPLBACKEND", "Agg")
# Importing PyKEEN's data sets makes a folder; keep it out of the home directory.
os.environ.setdefault("PYSTOW_HOME", str(Path(tempfile.gettempdir()) / "gumption-tests-pystow"))
if "PYTEST_XDIST_WORKER" in os.environ:
    # Workers share the processor: torch with more threads than its share is slower by an order of magnitude.
    os.environ["OMP_NUM_THREADS"] = "1"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of alchemy2.json and other real sets: GUMPTION_SHARED_DATA, else ../shared/data beside the repository."""
    folder = Path(os.environ.get("GUMPTION_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder} (set GUMPTION_SHARED_DATA)")
    return folder

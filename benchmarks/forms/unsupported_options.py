"""Which options a form leaves out since the program that would carry the run is too old for them."""

from collections.abc import Iterable

from benchmarks.engines.base import Field

FIRST = 9  # the `since` of an option that every version knows


def parted(
    fields: Iterable[Field], version: tuple[int, int] | None, reported: Iterable[str] = ()
) -> tuple[tuple[Field, ...], tuple[Field, ...]]:
    """(offered, lacked); one that was set already (`reported`) is offered all the same, so that it is refused aloud."""
    listed, kept = tuple(fields), set(reported)
    lacked = tuple(one for one in listed if version and one.name not in kept and one.since > max(version[0], FIRST))
    return tuple(one for one in listed if one not in lacked), lacked


def why(engine: str, version: tuple[int, int] | None, lacked: Iterable[Field]) -> str:
    """What is left out, in a sentence; empty where nothing is."""
    named = [f"{one.flag} ({one.since})" for one in sorted(lacked, key=lambda one: one.since)]
    if not named or version is None:
        return ""
    return f"Not in {engine} {version[0]}.{version[1]}, which would carry the run: {', '.join(named)}."

"""What runs are compared by: the figures of a summary, and the settings in which runs differ; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.engines.pgbench import scripts

PROGRAM = "load program"
SEEDS = frozenset({"random_seed"})  # repeats may each have their own
IDLE_SHARE = 0.10  # clients at work are told beside the number asked for where they differ by so much


@dataclass(frozen=True)
class Difference:
    """A setting in which the arms are not alike, so that their figures answer different questions."""

    name: str
    values: tuple[str, ...]


def settings_in_words(options: Mapping[str, Any], engine: str, server_version: str) -> dict[str, Any]:
    """What makes a configuration, by name: options as they can be told, the load program, the server's version.

    Scripts are told by their names, without their texts, and variables one after the other.
    """
    reported = {name: value for name, value in options.items() if name not in SEEDS}
    if reported.get("scripts"):
        reported |= {"builtin": None, "scripts": scripts.in_words(reported)}
    if reported.get("variables"):
        reported["variables"] = ", ".join(f"{name} = {value!r}" for name, value in reported["variables"].items())
    return {**reported, PROGRAM: engine, "server version": server_version}


def differences(described: Sequence[Mapping[str, Any]]) -> tuple[Difference, ...]:
    """The load program first, then whatever is not the same in all, by name."""
    names = sorted({name for one in described for name in one}, key=lambda name: (name != PROGRAM, name))
    every = (Difference(name, tuple(_text(one.get(name)) for one in described)) for name in names)
    return tuple(difference for difference in every if len(set(difference.values)) > 1)


def clients_asked(options: Mapping[str, Any]) -> float | None:
    """The workers that a load was asked for: clients, an HTTP load's concurrency, else sysbench's threads."""
    return options.get("clients") or options.get("concurrency") or options.get("threads")


def idle_clients(options: Mapping[str, Any], summary: Mapping[str, Any]) -> tuple[float, float] | None:
    """(at work, asked) where Little's law (tps × latency) finds another number of clients at work than was asked for.

    Under a rate clients wait on purpose: there it is no finding, and None too.
    """
    asked, busy = clients_asked(options), summary.get("effective_clients")
    if not asked or busy is None or options.get("rate") or abs(busy - asked) < IDLE_SHARE * asked:
        return None
    return busy, asked


def _text(value: object) -> str:
    if value in (None, ""):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)

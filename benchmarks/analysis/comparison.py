"""Settings in which compared runs differ, and clients that were asked for but idle; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from benchmarks import engines
from benchmarks.engines import stage_lines
from benchmarks.models.options import RunOptions
from benchmarks.models.summaries import Summary

SEEDS = frozenset({"random_seed"})  # repeats may each have their own
IDLE_SHARE = 0.10  # difference between busy and asked-for clients from which both are shown


@dataclass(frozen=True)
class Difference:
    """A setting whose values differ between arms, so that their figures answer different questions."""

    name: str
    values: tuple[str, ...]


def settings_in_words(options: RunOptions, engine: str, server_version: str) -> dict[str, object]:
    """Return a configuration as name → value for people: options, load program, version of the server.

    Scripts appear by their names, without their texts; variables as one list.
    """
    settings = {name: value for name, value in options.items() if name not in SEEDS}
    if options.get("scripts"):
        settings |= {"builtin": None, "scripts": engines.engine(engine).scripts_in_words(options)}
    if stages := options.get("stages"):
        settings |= {"clients": None, "duration": None, "stages": ", ".join(map(stage_lines.in_words, stages))}
    if variables := options.get("variables"):
        settings["variables"] = ", ".join(f"{name} = {value!r}" for name, value in variables.items())
    return {**settings, _program_name(): engine, server_version_name(): server_version}


def server_version_name() -> str:
    """Return the name under which `settings_in_words` gives the version of the server."""
    return _("server version")


def _program_name() -> str:
    return _("load program")


def differences(configurations: Sequence[Mapping[str, object]]) -> tuple[Difference, ...]:
    """Return the settings that are not the same in all, the load program first, the others by name."""
    program = _program_name()
    names = sorted({name for one in configurations for name in one}, key=lambda name: (name != program, name))
    every = (Difference(name, tuple(_text(one.get(name)) for one in configurations)) for name in names)
    return tuple(difference for difference in every if len(set(difference.values)) > 1)


def clients_asked(options: RunOptions) -> float | None:
    """Return the clients that a load was asked for: pgbench's clients, an HTTP load's concurrency, else threads."""
    return options.get("clients") or options.get("concurrency") or options.get("threads")


def idle_clients(options: RunOptions, summary: Summary) -> tuple[float, float] | None:
    """Return (busy, asked) where Little's law (tps × latency) gives another number of busy clients than asked for.

    None where they differ by less than `IDLE_SHARE`, and under a rate, where clients wait on purpose.
    """
    requested_clients, busy = clients_asked(options), summary.get("effective_clients")
    if (
        not requested_clients
        or busy is None
        or options.get("rate")
        or abs(busy - requested_clients) < IDLE_SHARE * requested_clients
    ):
        return None
    return busy, requested_clients


def _text(value: object) -> str:
    if value in (None, ""):
        return "–"
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return str(value)

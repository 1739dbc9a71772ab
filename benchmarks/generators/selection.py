"""Which engines a run can have, and which generators it may name; `any` is for whichever is free."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from benchmarks.engines import ENGINES, missing
from benchmarks.errors import InvalidGenerators
from benchmarks.generators import registry
from benchmarks.generators.registry import Known
from benchmarks.models import Purpose

ANY = "any"


def checked(names: Sequence[str], engine: str, purpose: str = Purpose.LOAD) -> list[str]:
    """The names as a run keeps them, empty for any.

    Raises `InvalidGenerators` naming what there is, and `QueueDown` where nobody can tell who lives.
    """
    wanted = [name.strip() for name in names if name.strip()]
    if ANY in wanted and len(wanted) > 1:
        raise InvalidGenerators(["any goes alone: leave it out, or name no other generator"])
    if twice := sorted({name for name in wanted if wanted.count(name) > 1}):
        raise InvalidGenerators([f"{', '.join(twice)} stands there twice: name each generator once"])
    if len(wanted) > 1 and purpose != Purpose.LOAD:
        raise InvalidGenerators(["a dataset is prepared by one generator: name one, or any"])
    if not wanted or wanted == [ANY]:
        _check_any(engine)
        return []
    known = registry.known()
    if errors := [error for name in wanted if (error := _wrong_with(name, engine, known))]:
        raise InvalidGenerators(errors)
    return wanted


def _check_any(engine: str) -> None:
    """Refuse only what nobody can do, as far as is known: a run may wait for a generator that is to come."""
    alive = [one for one in registry.known_or_remembered()[0] if one.alive]
    if alive and all(one.lacks(engine) for one in alive):
        names = ", ".join(one.name for one in alive)
        raise InvalidGenerators([f"no generator has {engine}: install it where one of {names} runs"])


def _wrong_with(name: str, engine: str, known: list[Known]) -> str:
    """Why a run can't have the generator; empty: it can."""
    found = next((one for one in known if one.name == name), None)
    if found is None:
        return f"there is no generator {name!r}: {_there_is(known, engine)}"
    if not found.alive:
        ago = seen_ago(found.last_seen_at)
        return f"generator {name!r} was last seen {ago} ago: start its worker, or {_there_is(known, engine)}"
    if found.lacks(engine):
        return f"generator {name!r} has no {engine}: {_there_is(known, engine)}"
    return ""


def _there_is(known: list[Known], engine: str) -> str:
    able = [one.name for one in known if one.alive and not one.lacks(engine)]
    return f"use {' or '.join(able)}" if able else f"none that has {engine} is alive just now"


def seen_ago(seen_at: datetime) -> str:
    """How long ago in the largest unit that fits: `40 s`, `3 min`, `2 h`, `5 days`."""
    seconds = max(0, round((timezone.now() - seen_at).total_seconds()))
    for unit, size in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


@dataclass(frozen=True)
class Offer:
    """An engine: generator → version of its program there, and why it can't be chosen (empty: it can)."""

    name: str
    generators: dict[str, str]
    missing: str = ""

    @property
    def where(self) -> str:
        """Who has it: `on east, west`; empty where nobody has told yet."""
        return f"on {', '.join(self.generators)}" if self.generators else ""


def offers() -> list[Offer]:
    """All engines. Where no generator lives, or it is not known which does, this host tells what can be chosen."""
    found, unknown = registry.known_or_remembered()
    alive = [one for one in found if one.alive]
    return [_offer(name, alive if not unknown else found) for name in ENGINES]


def offers_for(purpose: str) -> list[Offer]:
    """Those that have something of this purpose to set."""
    return [one for one in offers() if ENGINES[one.name].fields_for(purpose)]


def _offer(name: str, able: list[Known]) -> Offer:
    having = {one.name: one.engines[name] for one in able if one.engines and name in one.engines}
    return Offer(name, having, "" if having else _missing(name, able))


def _missing(name: str, able: list[Known]) -> str:
    """Why nobody has it; a generator that has not described itself yet may have it."""
    if any(one.engines is None for one in able):
        return ""
    here = missing(name)
    if not able:
        return here
    who = ", ".join(one.name for one in able)
    return f"no generator has it ({who} told so)" + (f": {here}" if here else ": install it where one of them runs")

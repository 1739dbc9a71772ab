"""Engines that a run can have, and generators that it may name; `any` stands for whichever is free."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.engines import ENGINES, missing
from benchmarks.errors import InvalidGenerators
from benchmarks.generators import host_checks, registry
from benchmarks.generators.registry import GeneratorStatus
from benchmarks.models import Purpose

ANY = registry.ANY
MOST_NAMED = 5  # generators in a sentence of a form, which also lists all of them with their boxes

# why a run can't have a generator: by whether another one that has its engine is alive
_UNKNOWN = {
    True: gettext_lazy("there is no generator %(name)s: use one that is alive (%(able)s)"),
    False: gettext_lazy("there is no generator %(name)s: none that has %(engine)s is alive just now"),
}
_GONE = {
    True: gettext_lazy(
        "generator %(name)s was last seen %(ago)s ago: start its worker, or use one that is alive (%(able)s)"
    ),
    False: gettext_lazy(
        "generator %(name)s was last seen %(ago)s ago: start its worker, as none that has %(engine)s is alive just now"
    ),
}
_NOBODY_TO_REACH_IT = gettext_lazy(
    "no worker is alive that could start a load on generator %(name)s by SSH: start a worker that executes runs"
)
_WITHOUT_ENGINE = {
    True: gettext_lazy("generator %(name)s has no %(engine)s: use one that has it (%(able)s)"),
    False: gettext_lazy("generator %(name)s has no %(engine)s: none that has it is alive just now"),
}


def checked(names: Sequence[str], engine: str, purpose: str = Purpose.LOAD) -> list[str]:
    """Return the names as a run stores them, empty for any.

    Raises `InvalidGenerators` listing those that exist, and `QueueDown` where it is unknown which are alive.
    """
    stripped = [name.strip() for name in names if name.strip()]
    if ANY in stripped and len(stripped) > 1:
        raise InvalidGenerators([_("any means all generators: leave it out, or name no other generator")])
    if twice := sorted({name for name in stripped if stripped.count(name) > 1}):
        raise InvalidGenerators([_("%(twice)s is named twice: name each generator once") % {"twice": ", ".join(twice)}])
    if len(stripped) > 1 and purpose != Purpose.LOAD:
        raise InvalidGenerators([_("a dataset is prepared by one generator: name one, or any")])
    if not stripped or stripped == [ANY]:
        _check_any(engine)
        return []
    known = host_checks.refreshed(registry.known(), stripped)
    if len(stripped) > 1 and any(one.ssh_host for one in known if one.name in stripped):
        text = _("a load is spread over workers only: name a host that is reached by SSH alone")
        raise InvalidGenerators([text])
    if errors := [error for name in stripped if (error := _wrong_with(name, engine, known))]:
        raise InvalidGenerators(errors)
    return stripped


def _check_any(engine: str) -> None:
    """Refuse an engine that no live generator has; a run may wait for a generator yet to start."""
    alive = [one for one in registry.known_or_remembered()[0] if one.alive and not one.ssh_host]
    if alive and all(one.lacks(engine) for one in alive):
        names = few([one.name for one in alive])
        raise InvalidGenerators(
            [
                _("no generator has %(engine)s: install it where one of %(names)s runs")
                % {"engine": engine, "names": names}
            ]
        )


def _wrong_with(name: str, engine: str, known: list[GeneratorStatus]) -> str:
    """Return why a run can't have the generator; empty where it can."""
    found = next((one for one in known if one.name == name), None)
    able = [one.name for one in known if one.alive and not one.lacks(engine)]
    if found is None:
        text = _UNKNOWN[bool(able)]
    elif not found.alive:
        text = _NOBODY_TO_REACH_IT if found.ssh_host else _GONE[bool(able)]
    elif found.fault:
        return found.fault
    elif found.lacks(engine):
        text = _WITHOUT_ENGINE[bool(able)]
    else:
        return ""
    words = {"name": repr(name), "engine": engine, "able": few(able)}
    return str(text) % (words | {"ago": seen_ago(found.last_seen_at) if found else ""})


def seen_ago(seen_at: datetime) -> str:
    """Return the time since then in the largest unit that fits: `40 s`, `3 min`, `2 h`, `5 days`."""
    seconds = max(0, round((timezone.now() - seen_at).total_seconds()))
    if seconds >= 2 * 86_400:
        return ngettext("%(count)s day", "%(count)s days", seconds // 86_400) % {"count": seconds // 86_400}
    for unit, size in (("h", 3_600), ("min", 60)):
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
        """The generators that have it: `on east, west`, of many the first few; empty where none is known."""
        return _("on %(generators)s") % {"generators": few(list(self.generators))} if self.generators else ""

    @property
    def is_on(self) -> str:
        """A sentence that says where it is; empty where no generator that has it is known."""
        words = {"engine": self.name, "generators": few(list(self.generators))}
        return _("%(engine)s is on %(generators)s") % words if self.generators else ""


def few(names: Sequence[str]) -> str:
    """Return the names, or of more than five the first few and how many more there are."""
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    count = len(names) - MOST_NAMED + 1
    words = {"names": ", ".join(names[: MOST_NAMED - 1]), "count": count}
    return ngettext("%(names)s and %(count)s more", "%(names)s and %(count)s more", count) % words


def offers(known: tuple[list[GeneratorStatus], str] | None = None) -> list[Offer]:
    """Return all engines. Where no generator is known to be alive, this host decides what can be chosen.

    `known` is what `registry.known_or_remembered` returned, where it was asked already.
    """
    found, unknown = known or registry.known_or_remembered()
    alive = [one for one in found if one.alive]
    return [_offer(name, alive if not unknown else found) for name in ENGINES]


def offers_for(purpose: str, known: tuple[list[GeneratorStatus], str] | None = None) -> list[Offer]:
    """Return the engines that have options for this purpose; `known` as in `offers`."""
    return [one for one in offers(known) if ENGINES[one.name].fields_for(purpose)]


def _offer(name: str, able: list[GeneratorStatus]) -> Offer:
    having = {one.name: one.engines[name] for one in able if one.engines and name in one.engines}
    return Offer(name, having, "" if having else _missing(name, able))


def _missing(name: str, able: list[GeneratorStatus]) -> str:
    """Return why no generator has it; empty where one has not described itself yet, and may have it."""
    if any(one.engines is None for one in able):
        return ""
    here = missing(name)
    if not able:
        return here
    words = {"generators": few([one.name for one in able]), "reason": here}
    if here:
        return _("no generator has it (%(generators)s reported so): %(reason)s") % words
    return _("no generator has it (%(generators)s reported so): install it where one of them runs") % words

"""Which engines a run can have: those of a generator that lives, by name, and why the others can't be chosen."""

from dataclasses import dataclass

from benchmarks.engines import ENGINES, availability
from benchmarks.generators import registry
from benchmarks.generators.registry import Known


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
    here = availability.missing(name)
    if not able:
        return here
    who = ", ".join(one.name for one in able)
    return f"no generator has it ({who} told so)" + (f": {here}" if here else ": install it where one of them runs")

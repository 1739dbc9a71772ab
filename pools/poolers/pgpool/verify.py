"""Proof that a pgpool.conf is live: what PGPOOL SHOW ALL and SHOW POOL_NODES say against what was written."""

import re
from collections.abc import Mapping

from pools.poolers.settings_schema import Setting, Type

# A reload changes none of these of a known backend; 4.6 takes ALWAYS_PRIMARY with it, but drops it at a start only.
AT_START = re.compile(r"backend_(hostname|port|flag)\d+")
HIDDEN = re.compile(r"\*+")
FACTORS: dict[str, dict[str, float]] = {
    "s": {"ms": 0.001, "": 1, "s": 1, "min": 60, "h": 3600, "d": 86400},
    "ms": {"": 1, "ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000},
    "min": {"": 1, "min": 1, "h": 60, "d": 1440},
    "bytes": {"": 1, "B": 1, "kB": 1024, "MB": 1024**2, "GB": 1024**3, "TB": 1024**4},
    "kB": {"": 1, "kB": 1, "MB": 1024, "GB": 1024**2, "TB": 1024**3},
}
QUANTITY = re.compile(r"(-?\d+(?:\.\d+)?)\s*([A-Za-z]*)")
TRUE, FALSE = ("on", "true", "yes", "1"), ("off", "false", "no", "0")


Known = Mapping[str, Setting]  # the settings of the release at hand, by name


def differences(live: Mapping[str, str], written: Mapping[str, str], known: Known) -> dict[str, tuple[str, str]]:
    """Name → (live, written) of each setting that the program has otherwise, or not at all."""
    return {
        name: (live.get(name, ""), value)
        for name, value in written.items()
        if name not in live or not same(live[name], value, known.get(name))
    }


def waits_for_restart(name: str, known: Known) -> bool:
    """Return whether the program reads it at its start only."""
    return bool(AT_START.fullmatch(name)) or (name in known and known[name].restart)


def same(live: str, wanted: str, setting: Setting | None) -> bool:
    """Return whether what PGPOOL SHOW prints is the value written: `5min` is 300 s, `on` is 1."""
    if HIDDEN.fullmatch(live):
        return True
    if setting is None:
        return live == wanted or truth(live) == truth(wanted) != ""
    if setting.type == Type.BOOLEAN:
        return truth(live) == truth(wanted)
    if setting.type == Type.CHOICE:
        return live.lower() == wanted.lower()
    if setting.type == Type.NUMBER:
        return quantity(live, setting.unit) == quantity(wanted, setting.unit)
    return live == wanted


def truth(value: str) -> str:
    """Return `on` or `off` for a Boolean in any of its spellings; empty for another text."""
    return "on" if value.lower() in TRUE else "off" if value.lower() in FALSE else ""


def quantity(value: str, unit: str) -> float | str:
    """Convert to a number of `unit`s; return the text itself where it is none."""
    found = QUANTITY.fullmatch(value)
    if not found or found[2] not in FACTORS.get(unit, {"": 1}):
        return value
    return float(found[1]) * FACTORS.get(unit, {"": 1})[found[2]]

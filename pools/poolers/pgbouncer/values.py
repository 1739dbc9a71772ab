"""How PgBouncer prints a value that it was given: the proof of a setting compares what both sides mean."""

from pools.poolers.settings_schema import Setting, Type

MICROSECONDS = 1_000_000


def text_of(value: object) -> str:
    """Return the value as it is written to a file."""
    return str(int(value)) if isinstance(value, bool) else str(value).strip()


def same(setting: Setting, live: str, wanted: str) -> bool:
    """Return whether the live value (made by `settings_schema.readable`) means the same as the written one."""
    if live == wanted:
        return True
    try:
        return _meaning(setting.type, live) == _meaning(setting.type, wanted)
    except ValueError:
        return False


def _meaning(kind: Type, text: str) -> object:
    if kind in (Type.NUMBER, Type.BOOLEAN):
        return int(text)
    if kind == Type.SECONDS:
        # kept in whole microseconds, cut, and printed with six digits (libusual: cf_set_time_usec, cf_get_time_double)
        return f"{int(float(text) * MICROSECONDS) / MICROSECONDS:g}"
    return text.casefold() if kind == Type.CHOICE else text

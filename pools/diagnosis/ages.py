"""Ages as sentences name them."""

MINUTE_S, HOUR_S = 60, 3600


def written(seconds: float | None) -> str:
    """Write an age in the unit that fits, as `12 s`, `4 min` or `3 h`."""
    if seconds is None:
        return "–"
    if seconds < MINUTE_S * 2:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    if seconds < HOUR_S * 2:
        return f"{seconds / MINUTE_S:.0f} min"
    return f"{seconds / HOUR_S:.0f} h"

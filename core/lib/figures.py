"""Figures as people read them: digits in groups of three, and a minus sign instead of a hyphen; pure."""

MINUS = "−"


def figure(number: float) -> str:
    """Format a number with at least three significant digits: `12,346`, `812.4`, `0.167`, `−8.71`."""
    whole = abs(number) >= 1000 or number == int(number)
    digits = 0 if whole else 1 if abs(number) >= 100 else 2 if abs(number) >= 1 else 3
    return _with_minus(f"{number:,.{digits}f}")


def figure_or_dash(number: float | None) -> str:
    """Format a number as `figure` does, and an unknown one as a dash."""
    return "–" if number is None else figure(number)


def signed(number: float, digits: int | None = None) -> str:
    """Format a change with its sign, `+58.4` or `−18.2`, and so many `digits` after the point (none: as `figure`)."""
    text = figure(abs(number)) if digits is None else f"{abs(number):,.{digits}f}"
    is_zero = not text.strip("0.,")
    return text if is_zero else f"{MINUS if number < 0 else '+'}{text}"


def percent_change(ratio: float) -> str:
    """Format a ratio as the change that it is: 1.584 becomes `+58.4 %`."""
    return f"{signed((ratio - 1) * 100, 1)} %"


def _with_minus(text: str) -> str:
    return text.replace("-", MINUS)

"""How deep what somebody sent is nested: everything that walks it later by recursion relies on a limit."""

MOST_LEVELS = 32


def is_too_deep(parsed: object, levels: int = MOST_LEVELS) -> bool:
    """Tell whether lists and objects are nested deeper than `levels`; walks level by level, without recursion."""
    level = [parsed]
    for _level in range(levels + 1):
        level = [
            value
            for one in level
            if isinstance(one, list | dict)
            for value in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return True

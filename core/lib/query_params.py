"""Ids and flags in query strings, which may hold anything."""

from uuid import UUID


def id_of(text: str) -> UUID | None:
    """Parse a UUID; None for another text."""
    try:
        return UUID(text)
    except ValueError:
        return None


def is_set(text: str | None) -> bool:
    """Tell whether a flag such as `?experiments=true` is on, in whichever word for it."""
    return (text or "").strip().lower() in ("true", "1", "yes", "on")

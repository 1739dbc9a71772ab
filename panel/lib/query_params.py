"""Ids in query strings, which may hold anything."""

from uuid import UUID


def id_of(text: str) -> UUID | None:
    """Parse a UUID; None where the text is none."""
    try:
        return UUID(text)
    except ValueError:
        return None

"""Ids in addresses, where anybody may type anything."""

from uuid import UUID


def id_of(text: str) -> UUID | None:
    """The id that a text holds, or None."""
    try:
        return UUID(text)
    except ValueError:
        return None

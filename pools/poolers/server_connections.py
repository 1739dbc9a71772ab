"""How a kind of pooler tells which server connections it holds."""

from dataclasses import dataclass


@dataclass(frozen=True)
class HeldServers:
    """The SHOW word that lists them, its columns of the backend's pid and of the role, and how they are made to go."""

    word: str
    pid: str
    user: str
    remedy: str

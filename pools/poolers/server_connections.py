"""How a kind of pooler lists the server connections that it holds."""

from dataclasses import dataclass

from django.utils.functional import Promise


@dataclass(frozen=True)
class HeldServers:
    """The SHOW word that lists them, its columns of the backend's pid and of the role, and how to close them."""

    word: str
    pid: str
    user: str
    advice: str | Promise

    @property
    def remedy(self) -> str:
        """A clause on how to close them, in the reader's language."""
        return str(self.advice)

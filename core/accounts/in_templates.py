"""What templates ask of the access of the page's user."""

from dataclasses import dataclass

from django.db.models import Model
from django.http import HttpRequest

from core.accounts.access import Access


@dataclass(frozen=True)
class Permission:
    """Whether the user may do something: as a truth value, to some record of some team; `on`, to this one."""

    access: Access
    operation: str

    def __bool__(self) -> bool:
        return self.access.may(self.operation)

    def on(self, record: Model | None) -> bool:
        """Tell whether the user may do this to the record."""
        return self.access.may(self.operation, record)


@dataclass(frozen=True)
class _Noun:
    access: Access
    noun: str

    def __getitem__(self, verb: str) -> Permission:
        return Permission(self.access, f"{self.noun}.{verb}")


@dataclass(frozen=True)
class May:
    """The operations by noun and verb, as the table names them: `may.pool.change`."""

    access: Access

    def __getitem__(self, noun: str) -> _Noun:
        return _Noun(self.access, noun)


def may(request: HttpRequest) -> dict[str, object]:
    """Give templates `may`, and `access` for what is shown where there are several teams; a context processor."""
    access = Access.of(request)
    return {"may": May(access), "access": access}

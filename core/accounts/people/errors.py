"""What is refused of teams, people and invitations."""

from collections.abc import Mapping

from core.lib.errors import DomainError


class Refused(DomainError):
    """The state of a team or a person forbids it."""

    status = 409


class InvalidValues(DomainError):
    """The values for a team or a member are not valid; `errors` has the messages by field."""

    def __init__(self, errors: Mapping[str, list[str]]) -> None:
        super().__init__("; ".join(message for messages in errors.values() for message in messages))
        self.errors = errors

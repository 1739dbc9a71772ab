"""Errors of this app; `status` is the HTTP answer."""

from core.lib.errors import DomainError


class BenchmarksError(DomainError):
    """An operation of this app was refused or failed."""


class IllegalTransition(BenchmarksError):
    """The run is in a state that does not allow this."""

    status = 409


class Fenced(BenchmarksError):
    """Another attempt, the reaper or a cancel ended this attempt: its holder may write nothing more."""

    status = 409


class QueueDown(BenchmarksError):
    """Redis can't be reached, so nothing was queued."""

    status = 503


class Refused(BenchmarksError):
    """The target or its data forbid this without a typed confirmation."""


class Unconfirmed(Refused):
    """A name has to be typed first; `sentences` are the reason and what would change, one a line in the message."""

    def __init__(self, sentences: list[str]) -> None:
        super().__init__("\n".join(sentences))
        self.sentences = sentences


class InvalidFields(BenchmarksError):
    """Invalid input; `errors` holds the messages by field, for forms and the API."""

    def __init__(self, errors: dict[str, list[str]]) -> None:
        super().__init__("; ".join(f"{field}: {message}" for field, found in errors.items() for message in found))
        self.errors = errors


class InvalidTarget(InvalidFields):
    """A target that can't carry a run."""


class InvalidGenerators(BenchmarksError):
    """Generators that can't carry the run; `errors` holds the messages under `generators`."""

    def __init__(self, messages: list[str]) -> None:
        super().__init__("; ".join(messages))
        self.errors = {"generators": messages}


class InvalidSweep(BenchmarksError):
    """Steps of a sweep that can't be run or compared; `errors` holds the messages under `sweep_clients`."""

    def __init__(self, messages: list[str]) -> None:
        super().__init__("; ".join(messages))
        self.errors = {"sweep_clients": messages}


class InvalidOptions(InvalidFields):
    """Options that the program would refuse or the panel does not allow, by name."""

"""How far the stream is: what waits for each target, since when, and why."""

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.audit.models import Entry, StreamPosition, StreamTarget
from core.audit.stream import targets


@dataclass(frozen=True)
class StreamState:
    """One target; `waiting` counts the entries that have not arrived there, the oldest of which is of `since`."""

    target: StreamTarget
    name: str
    sent: int
    waiting: int
    since: datetime | None
    failing_since: datetime | None
    error: str

    @property
    def failing_s(self) -> float:
        """How long the target has not taken what waits for it."""
        return (timezone.now() - self.failing_since).total_seconds() if self.failing_since else 0.0

    @property
    def sentence(self) -> str:
        """Say what waits since when, and why."""
        if not self.waiting or self.since is None:
            return _("%(name)s: all entries were sent, up to %(number)s") % {"name": self.name, "number": self.sent}
        text = ngettext(
            "%(name)s: %(count)s entry has waited since %(since)s",
            "%(name)s: %(count)s entries have waited since %(since)s",
            self.waiting,
        )
        since = date_format(timezone.localtime(self.since), "Y-m-d H:i:s")
        message = text % {"name": self.name, "count": f"{self.waiting:,}", "since": since}
        return _("%(message)s: %(reason)s") % {"message": message, "reason": self.error} if self.error else message


def states() -> list[StreamState]:
    """Return the state of each configured target."""
    positions = StreamPosition.objects.in_bulk()
    return [_state_of(target, positions.get(target.value)) for target in targets.configured()]


def least_sent() -> int | None:
    """Return the number of the last entry that has arrived at every configured target; None where there is none."""
    sent = dict(StreamPosition.objects.values_list("target", "sent"))
    return min((sent.get(target.value, 0) for target in targets.configured()), default=None)


def _state_of(target: StreamTarget, position: StreamPosition | None) -> StreamState:
    sent = position.sent if position else 0
    unsent = Entry.objects.filter(number__gt=sent)
    first, last = unsent.order_by("number").first(), unsent.order_by("-number").first()
    return StreamState(
        target,
        targets.name_of(target),
        sent,
        last.number - first.number + 1 if first and last else 0,  # their numbers have no gaps
        first.at if first else None,
        position.failing_since if position else None,
        position.error if position else "",
    )

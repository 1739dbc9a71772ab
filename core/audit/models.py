"""The rows of the audit trail, which are only ever appended, and how far they were sent elsewhere."""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol, TypedDict
from uuid import UUID, uuid4

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class ActorKind(models.TextChoices):
    """What acted."""

    PERSON = "person", _("person")
    TOKEN = "token", _("token")
    WORKER = "worker", _("worker")
    SCHEDULE = "schedule", _("schedule")
    COMMAND = "command", _("command line")
    NOBODY = "nobody", _("not signed in")


class Change(TypedDict, total=False):
    """The fields of an object before and after an act, by name; a secret's value is the word `changed`."""

    before: dict[str, object]
    after: dict[str, object]


class OwnerOfTeams(Protocol):
    """A caller, as the trail sees them."""

    @property
    def owned_teams(self) -> Sequence[UUID]:
        """The teams that they own."""


class Entry(models.Model):
    """One act. `hash` is the SHA-256 of `previous` and of all other columns; see `core.audit.chain`.

    Names are kept as they were, so that a row says who and what after either is gone.
    """

    number = models.BigIntegerField(primary_key=True)
    at = models.DateTimeField(default=timezone.now)
    actor_kind = models.CharField(max_length=8, choices=ActorKind.choices)
    actor_id = models.CharField(max_length=64, default="", blank=True)
    actor_name = models.CharField(max_length=300)
    asked_by = models.CharField(max_length=150, default="", blank=True)  # the person whose request a worker carries out
    source = models.CharField(max_length=255, default="", blank=True)  # an address, or a host and its program
    action = models.CharField(max_length=100)  # object and verb, such as pool.change
    object_kind = models.CharField(max_length=40, default="", blank=True)
    object_id = models.CharField(max_length=64, default="", blank=True)
    object_name = models.CharField(max_length=300, default="", blank=True)
    cluster_id = models.UUIDField(null=True, blank=True)
    team_id = models.UUIDField(null=True, blank=True)
    change = models.TextField(default="{}")  # JSON as it was hashed, which jsonb would rewrite; see `Change`
    reason = models.CharField(max_length=500, default="", blank=True)
    outcome = models.CharField(max_length=500, default="", blank=True)
    previous = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    class Meta:
        ordering = ["-number"]
        indexes = [
            models.Index(fields=["object_kind", "object_id", "-number"], name="audit_by_object"),
            models.Index(fields=["cluster_id", "-number"], name="audit_by_cluster"),
            models.Index(fields=["team_id", "-number"], name="audit_by_team"),
            models.Index(fields=["actor_name", "-number"], name="audit_by_actor"),
            models.Index(fields=["action", "-number"], name="audit_by_action"),
            models.Index(fields=["at"], name="audit_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.number} {self.action} {self.object_name}".rstrip()

    @classmethod
    def visible_to(cls, access: OwnerOfTeams) -> Q:
        """Return the condition for entries that a caller may see who is no administrator."""
        return Q(team_id__in=access.owned_teams)

    @property
    def fields(self) -> Change:
        """The change, parsed."""
        found: Change = json.loads(self.change)
        return found

    def as_json(self) -> dict[str, object]:
        """Return the entry as exports and receivers of the trail have it, with its hash and that of the one before."""
        plain = {field.attname: getattr(self, field.attname) for field in Entry._meta.fields}
        plain["at"] = self.at.isoformat(timespec="microseconds").replace("+00:00", "Z")
        plain["cluster_id"], plain["team_id"] = (str(one) if one else None for one in (self.cluster_id, self.team_id))
        return plain | {"change": self.fields}


class StreamTarget(models.TextChoices):
    """Where the entries are sent to."""

    SYSLOG = "syslog", _("syslog")
    WEBHOOK = "webhook", _("webhook")


class StreamPosition(models.Model):
    """How far the trail was sent to one target. One worker at a time sends, for as long as it holds the position."""

    target = models.CharField(max_length=7, primary_key=True, choices=StreamTarget.choices)
    sent = models.BigIntegerField(default=0, help_text=_("The number of the last entry that arrived"))
    sent_at = models.DateTimeField(null=True)
    failing_since = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0, help_text=_("Failed attempts since then"))
    error = models.TextField(default="")
    due_at = models.DateTimeField(default=timezone.now)
    holder = models.UUIDField(null=True)
    held_until = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.target}: {self.sent}"

    @classmethod
    def claim(cls, target: str, lease: timedelta) -> "StreamPosition | None":
        """Return the position to send from where it is due; None where it is not, or another worker holds it."""
        cls.objects.get_or_create(target=target)
        now, holder = timezone.now(), uuid4()
        free = cls.objects.filter(target=target, due_at__lte=now, held_until__lte=now)
        if not free.update(holder=holder, held_until=now + lease):
            return None
        return cls.objects.filter(target=target, holder=holder).first()

    def advance(self, number: int, lease: timedelta) -> bool:
        """Note that all up to this entry arrived, and hold on; False where another worker holds it by now."""
        now = timezone.now()
        self.sent, self.failures = number, 0
        arrived = {"sent": number, "sent_at": now, "failing_since": None, "failures": 0, "error": ""}
        return bool(self._held().update(**arrived, held_until=now + lease))

    def fail(self, reason: str, wait: timedelta) -> None:
        """Note why the entries after `sent` did not arrive, and let them be sent again after the wait."""
        now = timezone.now()
        failed = {"failing_since": self.failing_since or now, "failures": self.failures + 1, "error": reason}
        self._held().update(**failed, due_at=now + wait, held_until=now, holder=None)

    def release(self) -> None:
        """Let the next worker send at once."""
        self._held().update(held_until=timezone.now(), holder=None)

    def _held(self) -> models.QuerySet["StreamPosition"]:
        return StreamPosition.objects.filter(pk=self.pk, holder=self.holder)

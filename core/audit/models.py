"""The rows of the audit trail; they are only ever appended."""

import json
from collections.abc import Sequence
from typing import Protocol, TypedDict
from uuid import UUID

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

"""Links that are good once, of which only the digest is stored."""

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone

from core.accounts.models.teams import Role, Team


class OneTimeLink(models.Model):
    """A link that is good once, until it expires."""

    digest = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True

    @property
    def has_expired(self) -> bool:
        """True once its time is over, used or not."""
        return self.expires_at <= timezone.now()


class AdminLink(OneTimeLink):
    """The link by which somebody becomes the first administrator; a new one replaces those before."""

    def __str__(self) -> str:
        return f"link that expires {self.expires_at:%Y-%m-%d %H:%M}"


class InvitationQuerySet(models.QuerySet["Invitation"]):
    """Finds invitations that can be accepted."""

    def open(self) -> "InvitationQuerySet":
        """Exclude those that were used or revoked, or have expired."""
        return self.filter(used_at=None, revoked_at=None, expires_at__gt=timezone.now())


class Invitation(OneTimeLink):
    """The link by which somebody makes an account of their own and becomes a member of a team."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=9, choices=Role.choices, default=Role.VIEWER)
    email = models.EmailField(blank=True)
    invited_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="invitations")
    created_at = models.DateTimeField(auto_now_add=True)
    revoked_at = models.DateTimeField(null=True)
    used_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    objects = InvitationQuerySet.as_manager()
    belongs_to = ("team",)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.email or 'link'} into {self.team} as {self.role}"

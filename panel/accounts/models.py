"""API tokens: hashed at rest, scoped, expiring."""

import hashlib
import secrets
import uuid
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.utils import timezone

PREFIX = "pd_"
SECOND_USE_AFTER = timedelta(minutes=1)


class Scope(models.TextChoices):
    """What a token may do; `admin` includes the others."""

    READ = "read", "read everything but passwords"
    RUN = "run", "start and cancel runs (to follow them: read too)"
    APPLY = "apply", "change and apply pools"
    ADMIN = "admin", "everything, passwords and tokens included"


def digest(token: str) -> str:
    """What is stored of a token: SHA-256 in hex, enough for 256 random bits."""
    return hashlib.sha256(token.encode()).hexdigest()


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    """Finding tokens that still open the door."""

    def usable(self) -> "ApiTokenQuerySet":
        """Neither revoked nor expired."""
        return self.filter(revoked_at=None).exclude(expires_at__lte=timezone.now())

    def issue(self, user: User, name: str, scopes: list[str], expires_at: datetime | None = None) -> str:
        """Make a token and answer its text, which is never shown again."""
        token = PREFIX + secrets.token_urlsafe(32)
        self.create(user=user, name=name, scopes=scopes, expires_at=expires_at, prefix=token[:9], digest=digest(token))
        return token


class ApiToken(models.Model):
    """A script's key to the API."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=12)
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def has_expired(self) -> bool:
        """Whether its end has passed."""
        return self.expires_at is not None and self.expires_at <= timezone.now()

    @property
    def is_usable(self) -> bool:
        """Whether it still opens the door."""
        return self.revoked_at is None and not self.has_expired

    def allows(self, scope: str) -> bool:
        """Whether the token carries the scope, or `admin`."""
        return scope in self.scopes or Scope.ADMIN in self.scopes

    def mark_used(self) -> None:
        """Note the time of use, at most once a minute so that reading stays cheap."""
        now = timezone.now()
        if self.last_used_at is None or now - self.last_used_at > SECOND_USE_AFTER:
            self.last_used_at = now
            self.save(update_fields=["last_used_at"])

    def revoke(self) -> None:
        """End the token now; a second call changes nothing."""
        if self.revoked_at is None:
            self.revoked_at = timezone.now()
            self.save(update_fields=["revoked_at"])

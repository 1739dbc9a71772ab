"""API tokens: hashed at rest, scoped, expiring."""

import hashlib
import secrets
import uuid
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

PREFIX = "pd_"
SECOND_USE_AFTER = timedelta(minutes=1)


class Scope(models.TextChoices):
    """The scopes of a token; `admin` includes the others."""

    READ = "read", _("read everything but passwords")
    RUN = "run", _("start and cancel runs (to follow them, add read)")
    APPLY = "apply", _("change and apply pools")
    ADMIN = "admin", _("everything, including passwords and tokens")


def digest(token: str) -> str:
    """Return the SHA-256 of a token in hex, which is all that is stored of it: enough for 256 random bits."""
    return hashlib.sha256(token.encode()).hexdigest()


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    """Finds usable tokens and issues new ones."""

    def usable(self) -> "ApiTokenQuerySet":
        """Exclude revoked and expired tokens."""
        return self.filter(revoked_at=None).exclude(expires_at__lte=timezone.now())

    def issue(
        self,
        user: User,
        name: str,
        scopes: list[str],
        expires_at: datetime | None = None,
        limited_to: uuid.UUID | None = None,
    ) -> str:
        """Create a token and return its text, which is not stored: only its digest is."""
        token = PREFIX + secrets.token_urlsafe(32)
        fields = {"name": name, "scopes": scopes, "expires_at": expires_at, "limited_to": limited_to}
        self.create(user=user, prefix=token[:9], digest=digest(token), **fields)
        return token


class ApiToken(models.Model):
    """A script's key to the API."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=12)
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    limited_to = models.UUIDField(null=True, editable=False)  # the pooler whose files it reads, and nothing else
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
        return self.expires_at is not None and self.expires_at <= timezone.now()

    @property
    def is_usable(self) -> bool:
        return self.revoked_at is None and not self.has_expired

    @property
    def is_limited(self) -> bool:
        """True if it is good for one record only; see `core.accounts.permissions.HasScope`."""
        return self.limited_to is not None

    def allows(self, scope: str) -> bool:
        """Tell whether the token has the scope, or `admin`; one that is limited to a record has none of all records."""
        return not self.is_limited and (scope in self.scopes or Scope.ADMIN in self.scopes)

    def mark_used(self) -> None:
        """Record the time of use, at most once a minute, so that reads stay cheap."""
        now = timezone.now()
        if self.last_used_at is None or now - self.last_used_at > SECOND_USE_AFTER:
            self.last_used_at = now
            self.save(update_fields=["last_used_at"])

    def revoke(self) -> None:
        """End the token now; no-op where it is revoked already."""
        if self.revoked_at is None:
            self.revoked_at = timezone.now()
            self.save(update_fields=["revoked_at"])

"""API tokens: hashed at rest, of a person or of a team, scoped, expiring, and limited to a record if asked for."""

import hashlib
import secrets
import uuid
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.accounts.models.teams import Role, Team

if TYPE_CHECKING:  # which stands on this module
    from core.accounts.access import Access

PREFIX = "pd_"
SECOND_USE_AFTER = timedelta(minutes=1)


class Scope(models.TextChoices):
    """The scopes of a token; `admin` includes the others."""

    READ = "read", _("read everything but passwords")
    RUN = "run", _("start and cancel runs (to follow them, add read)")
    APPLY = "apply", _("change and apply pools")
    ADMIN = "admin", _("everything, including passwords and tokens")


class LimitKind(models.TextChoices):
    """The kinds of records that a token can be limited to."""

    FILES = "", _("the files of a pooler")  # empty, as in rows of the releases that knew no other limit
    CLUSTER = "cluster", _("a cluster and what belongs to it")
    POOL = "pool", _("a pool and what belongs to it")


def digest(token: str) -> str:
    """Return the SHA-256 of a token in hex, which is all that is stored of it: enough for 256 random bits."""
    return hashlib.sha256(token.encode()).hexdigest()


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    """Finds usable tokens and issues new ones."""

    def usable(self) -> "ApiTokenQuerySet":
        """Exclude revoked and expired tokens, and those of people who may not sign in any more."""
        works = self.filter(Q(team__isnull=False) | Q(user__is_active=True), revoked_at=None)
        return works.exclude(expires_at__lte=timezone.now())

    def issue(
        self,
        user: User,
        name: str,
        scopes: list[str],
        expires_at: datetime | None = None,
        limited_to: uuid.UUID | None = None,
        limit_kind: LimitKind = LimitKind.FILES,
    ) -> str:
        """Create a token and return its text, which is not stored: only its digest is."""
        token = PREFIX + secrets.token_urlsafe(32)
        fields = {"name": name, "scopes": scopes, "expires_at": expires_at}
        limit = {"limited_to": limited_to, "limit_kind": limit_kind}
        self.create(user=user, prefix=token[:9], digest=digest(token), **fields, **limit)
        return token

    def issue_for_team(
        self,
        team: Team,
        role: Role,
        made_by: User,
        name: str,
        scopes: list[str],
        expires_at: datetime | None = None,
        limited_to: uuid.UUID | None = None,
        limit_kind: LimitKind = LimitKind.FILES,
    ) -> str:
        """Create a token of a team with a role there, and return its text; it stays when its maker goes.

        What it starts and changes has an author as everything has: an account that nobody can sign in with.
        """
        token = PREFIX + secrets.token_urlsafe(32)
        username = f"{team.name}: {name[:70]} ({token[:9]})"
        account = User(username=username, is_active=False)
        account.set_unusable_password()
        limit = {"limited_to": limited_to, "limit_kind": limit_kind}
        fields = {"name": name, "scopes": scopes, "expires_at": expires_at, "made_by": made_by, **limit}
        with transaction.atomic():
            # in bulk, which sends no signal: by that of people it would become a member of the only team
            (account,) = User.objects.bulk_create([account])
            self.create(user=account, team=team, role=role, prefix=token[:9], digest=digest(token), **fields)
        return token


class ApiToken(models.Model):
    """A script's key to the API."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    # A token of a team has a role there, and its `user` is an account of its own that nobody signs in with.
    team = models.ForeignKey(Team, null=True, on_delete=models.CASCADE, related_name="tokens")
    role = models.CharField(max_length=9, choices=Role.choices, default="", db_default="", blank=True)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=12)
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    # the record that it is limited to: a cluster, a pool, or the pooler whose files it reads and nothing else
    limited_to = models.UUIDField(null=True, editable=False)
    limit_kind = models.CharField(
        max_length=8, choices=LimitKind.choices, default=LimitKind.FILES, db_default=LimitKind.FILES, blank=True
    )
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True)
    last_used_from = models.CharField(max_length=45, default="", db_default="", blank=True)  # an address
    revoked_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @classmethod
    def visible_to(cls, access: "Access") -> Q:
        """Return the condition for tokens that a caller may see; see `managed_by`."""
        return cls.managed_by(access)

    @classmethod
    def managed_by(cls, access: "Access") -> Q:
        """Return the condition for tokens that a caller lists and revokes: their own, and those of their teams."""
        if access.is_admin:
            return Q()
        teams = access.teams("token.manage").values("pk")
        return Q(team__in=teams) | Q(user__pk=getattr(access.user, "pk", None))

    @property
    def has_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()

    @property
    def is_usable(self) -> bool:
        return self.revoked_at is None and not self.has_expired

    @property
    def is_limited(self) -> bool:
        """True if it is good for one record and what belongs to it; see `core.accounts.access.LimitedAccess`."""
        return self.limited_to is not None or self.limit_kind != LimitKind.FILES

    @property
    def reads_files_only(self) -> bool:
        """True if it is good for the files of one pooler only."""
        return self.limited_to is not None and self.limit_kind == LimitKind.FILES

    @property
    def holder(self) -> str:
        """The name of the team or of the person that it is of."""
        return self.team.name if self.team else self.user.get_username()

    def allows(self, scope: str) -> bool:
        """Tell whether the token has the scope, or `admin`."""
        return scope in self.scopes or Scope.ADMIN in self.scopes

    def mark_used(self, address: str = "") -> None:
        """Record the time and the address of use, at most once a minute, so that reads stay cheap."""
        now = timezone.now()
        if self.last_used_at is None or now - self.last_used_at > SECOND_USE_AFTER:
            self.last_used_at, self.last_used_from = now, address[:45]
            self.save(update_fields=["last_used_at", "last_used_from"])

    def revoke(self) -> None:
        """End the token now; no-op where it is revoked already."""
        if self.revoked_at is None:
            self.revoked_at = timezone.now()
            self.save(update_fields=["revoked_at"])

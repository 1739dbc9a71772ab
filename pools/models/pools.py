"""Pools: what clients connect to by name."""

from typing import Any, NamedTuple
from uuid import UUID

from django.db import connections, models, transaction
from django.db.models import Q, Sum
from django.utils.translation import gettext_lazy as _

from pools.models.base import VersionedModel
from pools.models.clusters import Cluster
from pools.models.poolers import KIND_ANSWERS, Pooler
from pools.models.states import REFUSED_STATES, NodeRole, PoolState

EVERYONE = "*"


class Mode(models.TextChoices):
    """The moment at which a server connection goes back to the pool."""

    SESSION = "session", _("Session")
    TRANSACTION = "transaction", _("Transaction")
    STATEMENT = "statement", _("Statement")


class AuthMethod(models.TextChoices):
    """The way in which a client proves its password, as HBA rules and libpq's `require_auth` name it."""

    MD5 = "md5", _("MD5")
    SCRAM = "scram-sha-256", _("SCRAM-SHA-256")


class PoolQuerySet(models.QuerySet["Pool"]):
    """Filters pools by their stage."""

    def wanted(self) -> "PoolQuerySet":
        """Exclude those that are to be removed."""
        return self.filter(removal_requested_at=None)

    def with_connections(self) -> "PoolQuerySet":
        """Exclude those that can't open a connection: to be removed, or refused before they were ever live."""
        return self.wanted().exclude(state__in=REFUSED_STATES, applied_at=None)

    def of_people(self) -> "PoolQuerySet":
        """Exclude those that an experiment made for itself."""
        return self.filter(made_for="")

    def unsettled(self) -> "PoolQuerySet":
        """Return those whose spec is not live yet: pending, or to be removed."""
        return self.filter(Q(state=PoolState.PENDING) | Q(removal_requested_at__isnull=False))

    def hold(self) -> None:
        """Hold these rows until the commit, in the order of their ids.

        Whoever writes several pools in a transaction holds all of them first, after their pooler and their cluster: two
        that lock the same rows in different orders wait for each other, and PostgreSQL ends one of them.
        """
        if connections[self.db].features.has_select_for_update:
            same = self.model._base_manager.using(self.db).filter(pk__in=self.order_by().values("pk"))
            list(same.order_by("pk").select_for_update(no_key=True).values_list("pk"))

    def update(self, **values: Any) -> int:
        """Write values to rows that are held, so that no writer of several pools locks them in another order."""
        if not connections[self.db].features.has_select_for_update:
            return super().update(**values)
        with transaction.atomic(using=self.db):
            self.hold()
            return super().update(**values)

    def connections(self) -> int:
        """Sum the server connections that they may use."""
        return self.aggregate(total=Sum("size"))["total"] or 0


class Pool(VersionedModel):
    """A named entry of a pooler that leads to one database of one cluster."""

    belongs_to = ("pooler", "cluster")  # seen by those who see either, and changed by those who may change on both

    name = models.CharField(max_length=63)
    pooler = models.ForeignKey(Pooler, on_delete=models.PROTECT, related_name="pools")
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="pools")
    password_for_developers = models.BooleanField(
        default=False, db_default=False, help_text=_("Developers of the team may reveal its password too")
    )
    through = models.ForeignKey(
        Pooler,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="chained_pools",
        help_text=_("A Pgpool-II"),
    )
    database = models.CharField(max_length=63)
    user = models.CharField(max_length=63, default="", blank=True, help_text=_("Empty: the inbound user"))
    mode = models.CharField(max_length=12, choices=Mode.choices, default=Mode.TRANSACTION)
    size = models.PositiveIntegerField()
    target = models.CharField(max_length=8, choices=NodeRole.choices, default=NodeRole.PRIMARY)
    allowed_users = models.TextField(
        default="", blank=True, help_text=_("Roles besides its user, one a line; *: every user that the pooler knows")
    )
    settings = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=12, choices=PoolState.choices, default=PoolState.PENDING, editable=False)
    state_reason = models.TextField(default="", editable=False)
    over_budget_by = models.CharField(
        max_length=150, default="", editable=False, help_text=_("Who allowed it, if it is")
    )
    applied_at = models.DateTimeField(null=True, editable=False, help_text=_("When an apply of it was last verified"))
    proved_at = models.DateTimeField(null=True, editable=False, help_text=_("When a login through it was last tried"))
    # digest of the last password that worked
    proved_digest = models.CharField(max_length=64, default="", editable=False)
    auth_method = models.CharField(
        max_length=16,
        default="",
        choices=AuthMethod.choices,
        editable=False,
        help_text=_("The password method of its clients; empty: as the rules of its pooler say"),
    )
    made_for = models.CharField(
        max_length=60,
        default="",
        editable=False,
        help_text=_("The experiment that made it for itself, if one did"),
    )
    paused_until = models.DateTimeField(null=True, editable=False, help_text=_("When a pause ends by itself"))
    taken_over = models.JSONField(
        default=dict, blank=True, editable=False
    )  # values of an entry that existed before: {"address", "role"}, see `poolers.pgbouncer.taken_entries`
    removal_requested_at = models.DateTimeField(null=True, editable=False)

    objects = PoolQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["pooler", "name"], condition=Q(removal_requested_at=None), name="one_pool_of_a_name"
            ),
            models.CheckConstraint(condition=Q(size__gte=1), name="pool_has_a_size"),
        ]
        indexes = [
            models.Index(fields=["name", "id"], name="pools_by_name"),
            # What the dashboard counts by state, and the oldest of a state. The state comes first: an index that begins
            # with what most pools have in common would be taken for lists by name, and be sorted.
            models.Index(fields=["state", "created_at", "made_for", "removal_requested_at"], name="pools_by_state"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def route(self) -> tuple[UUID, str]:
        """The servers that it leads to: its cluster, and which of its servers."""
        return self.cluster_id, self.target

    @property
    def was_never_live(self) -> bool:
        """True if it was refused before any apply of it was verified: the pooler may have another entry of its name."""
        return self.applied_at is None and self.state in REFUSED_STATES

    @property
    def admitted(self) -> tuple[str, ...]:
        """The roles that may log in to it; none where every user that its pooler knows may."""
        return admitted_roles(self.user, self.allowed_users)

    @property
    def login(self) -> str:
        """The role clients are shown: the fixed user, or the cluster's admin for the inbound user.

        Empty where the panel can't log in for them: a pooler that asks its cluster's lookup role for inbound users
        keeps no password of the admin, and that role returns no superuser (`pools.provisioning.auth_query`). Of an
        entry of the inbound user that was taken over, it is the role that logged in through it.
        """
        if self.taken_over:
            return self.user or str(self.taken_over.get("role", ""))
        if not self.user and self.cluster.auth_role and KIND_ANSWERS[self.pooler.kind].has_auth_query:
            return ""
        return self.user or self.cluster.admin_user


def admitted_roles(user: str, allowed_users: str) -> tuple[str, ...]:
    """Return the roles that may log in to a pool of these values; see `Pool.admitted`."""
    named = allowed_users.split("\n") if allowed_users else []
    if EVERYONE in named or not (user or named):
        return ()
    return tuple(sorted({*named, user} - {""}))


class PoolFinding(NamedTuple):
    """The findings of a check about an applied pool.

    `fault` says why clients can't use it. `tried`: a login through it was, `served`: and it worked; a pool that was
    full or shut is neither served nor at fault. `digest` is that of the password that its server was asked about.
    """

    pool: Pool
    fault: str = ""
    tried: bool = False
    served: bool = False
    digest: str = ""

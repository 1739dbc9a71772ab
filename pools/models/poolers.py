"""Poolers: running PgBouncers and Pgpool-IIs with their console login, configuration directory and files."""

import uuid
from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.accounts.models import OwnedByTeam
from core.lib import crypto, database_clock
from core.lib.sealed_field import SealedField
from pools.errors import IllegalTransition
from pools.models.base import Server
from pools.models.findings import Difference, ProcessRow, WaitingSetting
from pools.models.hosts import Host
from pools.models.states import PoolState

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

APPLY_LEASE = timedelta(seconds=60)
MOST_PROCESSES = 32


class PoolerKind(models.TextChoices):
    """The programs the panel configures; each has a folder in pools/poolers, and the first is the usual one."""

    PGBOUNCER = "pgbouncer", "PgBouncer"
    PGPOOL = "pgpool", "Pgpool-II"
    HAPROXY = "haproxy", "HAProxy"


class KindAnswers(Protocol):
    """The facts about a kind that models need from its driver; see `pools.poolers.base.Driver`."""

    has_auth_query: bool
    leads_to_all_nodes: bool


KIND_ANSWERS: dict[str, KindAnswers] = {}  # `pools.poolers` enters the drivers here


def usual_kind() -> str:
    """Return the kind of a pooler that is registered without one; a function, so that no migration names it."""
    return PoolerKind.values[0]


def pooler_kinds() -> list[tuple[str, str]]:
    """Return the kinds and their names; a function, so that a kind more or less needs no migration."""
    return PoolerKind.choices


class PoolerState(models.TextChoices):
    """The result of the last check of its console."""

    UNKNOWN = "unknown", _("not checked yet")
    ONLINE = "online", _("online")
    UNREACHABLE = "unreachable", _("unreachable")


class ProcessState(models.TextChoices):
    """The state of a process that shares a pooler's port: `unreachable` was seen there before, `stopped` never."""

    ONLINE = "online", _("online")
    UNREACHABLE = "unreachable", _("unreachable")
    STOPPED = "stopped", _("not started")


class Management(models.TextChoices):
    """The two ways of having a pooler: `managed` ones have their files written by the panel."""

    WATCHED = "watched", _("watched")
    MANAGED = "managed", _("managed")


class DeliveryAnswers(Protocol):
    """What is asked of a delivery below its registry; see `pools.config_files.deliveries.base.FileDelivery`."""

    label: "StrOrPromise"


DELIVERY_ANSWERS: dict[str, DeliveryAnswers] = {}  # `pools.config_files.deliveries` enters its deliveries here


def usual_delivery() -> str:
    """Return the delivery of a pooler that is registered without one; a function, so that no migration names it."""
    return next(iter(DELIVERY_ANSWERS))


def delivery_choices() -> list[tuple[str, "StrOrPromise"]]:
    """Return the deliveries and their labels; a function, so that one more or less needs no migration."""
    return [(name, delivery.label) for name, delivery in DELIVERY_ANSWERS.items()]


def taking_clients(processes: Iterable[ProcessRow], desired: int = 1) -> int:
    """Return the number of processes that take clients or are desired; 1 where none is known."""
    return max(1, desired, sum(one["state"] != ProcessState.STOPPED for one in processes))


class PoolerQuerySet(models.QuerySet["Pooler"]):
    """Poolers by who writes their files."""

    def managed(self) -> "PoolerQuerySet":
        """Return those whose files the panel writes."""
        return self.exclude(config_dir="")

    def watched(self) -> "PoolerQuerySet":
        """Return those that are known by their console alone, and never changed."""
        return self.filter(config_dir="")

    def hold(self, pk: uuid.UUID) -> "Pooler | None":
        """Return the pooler with its row held until the commit; None where it is gone.

        Whoever writes a pooler and its pools holds it first: in another order two wait for each other, and PostgreSQL
        ends one of them.
        """
        return self.select_for_update().filter(pk=pk).first()


class Pooler(Server, OwnedByTeam):
    """A pooler; without a `config_dir` it is watched: known by its console alone, and never changed.

    Clients and the console use the same host and port, unless `client_host` and `client_port` name others.
    """

    kind = models.CharField(max_length=12, choices=pooler_kinds, default=usual_kind)
    port = models.PositiveIntegerField(default=6432)
    pcp_port = models.PositiveIntegerField(null=True, blank=True, help_text=_("Pgpool-II's control port"))
    admin_user = models.CharField(max_length=63, default="pooldeck")
    config_dir = models.CharField(
        max_length=500,
        default="",
        blank=True,
        help_text=_("The folder of its configuration, on the generator's host; empty: the pooler is only watched"),
    )
    config_file = models.CharField(
        max_length=500,
        default="",
        blank=True,
        help_text=_("The path of its main file; empty: the usual name in the folder"),
    )
    file_paths = models.JSONField(
        default=dict, blank=True, editable=False
    )  # the panel's name of a file → its path, of a pooler that was taken over; see `config_files.pooler_files`
    delivery = models.CharField(max_length=12, choices=delivery_choices, default=usual_delivery)
    ssh_host = models.ForeignKey(
        Host,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="poolers",
        help_text=_("The host that the panel reaches by SSH, for that delivery"),
    )
    client_host = models.CharField(
        max_length=255,
        default="",
        blank=True,
        help_text=_("What connection strings show, such as a virtual IP or a DNS name; empty: the host"),
    )
    client_port = models.PositiveIntegerField(
        null=True, blank=True, help_text=_("What connection strings show; empty: the port")
    )
    stats_address = models.CharField(
        max_length=500,
        default="",
        blank=True,
        help_text=_("HAProxy's stats socket (a path or host:port), or the URL of its stats page"),
    )
    desired_processes = models.PositiveSmallIntegerField(
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_PROCESSES)],
        help_text=_("How many processes of a managed PgBouncer share its port, for as many cores"),
    )
    generator = models.CharField(max_length=63, default="", blank=True, help_text=_("The worker that can write there"))
    settings = models.JSONField(default=dict, blank=True)  # settings of the whole program, by the catalog's names
    user_settings = models.JSONField(default=dict, blank=True)  # {user: {setting: value}}

    settings_state = models.CharField(
        max_length=12, choices=PoolState.choices, default=PoolState.APPLIED, editable=False
    )
    settings_reason = models.TextField(default="", editable=False)
    needs_restart: "models.JSONField[list[WaitingSetting], list[WaitingSetting]]" = models.JSONField(
        default=list, editable=False
    )
    # cause of the pending change; see Revision.cause
    spec_cause = models.CharField(max_length=100, default="", editable=False)
    children_behind = models.JSONField(default=list, editable=False)  # see `leave_behind`
    drift: "models.JSONField[list[Difference], list[Difference]]" = models.JSONField(default=list, editable=False)
    drift_seen_at = models.DateTimeField(null=True, editable=False)  # time at which the current drift was first seen
    # time at which a worker that has its folder last looked for drift
    files_checked_at = models.DateTimeField(null=True, editable=False)
    state = models.CharField(max_length=12, choices=PoolerState.choices, default=PoolerState.UNKNOWN, editable=False)
    server_version = models.CharField(max_length=100, default="", editable=False)
    facts = models.JSONField(
        default=dict, editable=False
    )  # {setting: number} that a check found live, see Driver.facts
    commands_refused = models.TextField(
        default="", editable=False
    )  # why its console login may only read; empty where it may send commands
    processes: "models.JSONField[list[ProcessRow], list[ProcessRow]]" = models.JSONField(
        default=list, editable=False
    )  # processes that share its port, see Driver.processes
    applied_processes = models.JSONField(
        default=list, editable=False
    )  # the numbers of those that the last apply read back, see Session.processes_read_back
    checked_at = models.DateTimeField(null=True, editable=False)
    error = models.TextField(default="", editable=False)
    apply_token = models.UUIDField(null=True, editable=False)
    apply_lease_until = models.DateTimeField(null=True, editable=False)
    apply_holder = models.CharField(
        max_length=150, default="", editable=False
    )  # its process, see pools.deployment.apply_lock
    refused_amid = models.CharField(
        max_length=64, default="", editable=False
    )  # digest of the circumstances of the last refusal, see pools.deployment.retries
    rests_until = models.DateTimeField(
        null=True, editable=False
    )  # an apply that waits for a cluster is not retried before

    objects = PoolerQuerySet.as_manager()

    @property
    def management(self) -> Management:
        """`managed` where the panel may write its files, else `watched`."""
        return Management.MANAGED if self.config_dir else Management.WATCHED

    @property
    def is_watched(self) -> bool:
        """True if it is known by its console alone."""
        return not self.config_dir

    def require_managed(self) -> None:
        """Raise `IllegalTransition` for a watched pooler, before anything would be written for it."""
        if self.is_watched:
            text = gettext("pooler %(pooler)s is only watched, so the panel changes nothing of it: take it over first")
            raise IllegalTransition(text % {"pooler": self})

    @property
    def client_address(self) -> tuple[str, int]:
        """Host and port that clients are told."""
        return self.client_host or self.host, self.client_port or self.port

    @property
    def edits(self) -> list[str]:
        """The changes that the operator's manual edits, not yet live, would make at the next reload or start."""
        return [one["what"] for one in self.drift if one.get("by")]

    def take_apply_lock(self, holder: str = "", dead: str = "") -> bool:
        """Take the apply lock for the process `holder` and `APPLY_LEASE`; return False while another one holds it.

        A lock that the `dead` process holds is free.
        """
        token, until = uuid.uuid4(), database_clock.after(APPLY_LEASE)
        free = Q(apply_token=None) | Q(apply_lease_until__lt=Now()) | (Q(apply_holder=dead) if dead else Q())
        lease = {"apply_token": token, "apply_holder": holder, "apply_lease_until": until}
        if not Pooler.objects.filter(free, pk=self.pk).update(**lease):
            return False
        self.apply_token = token
        return True

    def holds_apply_lock(self) -> bool:
        """Renew the lock; return False when the lease expired and another process took it (then write nothing)."""
        locked_by_me = Pooler.objects.filter(pk=self.pk, apply_token=self.apply_token)
        return bool(locked_by_me.update(apply_lease_until=database_clock.after(APPLY_LEASE)))

    def is_being_applied(self) -> bool:
        """Return whether a process holds the lock now."""
        return Pooler.objects.filter(pk=self.pk, apply_lease_until__gt=Now()).exists()

    def release_apply_lock(self) -> None:
        """Release the lock if this process still holds it."""
        locked_by_me = Pooler.objects.filter(pk=self.pk, apply_token=self.apply_token)
        locked_by_me.update(apply_token=None, apply_holder="", apply_lease_until=None)
        self.apply_token = None

    def leave_behind(self, children: Collection[str]) -> None:
        """Save which processes of the program have not read the passwords of the last apply yet."""
        self.children_behind = sorted(children)
        Pooler.objects.filter(pk=self.pk).update(children_behind=self.children_behind)

    @property
    def behind(self) -> int:
        """The number of processes that have not read the passwords of the last apply yet."""
        return len(self.children_behind)

    @property
    def process_count(self) -> int:
        """The number of processes that take its clients, each with server connections of its own, or are asked for.

        Those that were ever online count.
        """
        return taking_clients(self.processes, self.desired_processes)

    @property
    def shares_its_port(self) -> bool:
        """True if several processes take its clients (so_reuseport)."""
        return len(self.processes) > 1

    @property
    def silent_processes(self) -> list[str]:
        """Names of processes that shared its port and did not answer at the last check."""
        return [one["name"] for one in self.processes if one["state"] == ProcessState.UNREACHABLE]

    @property
    def processes_note(self) -> str:
        """A sentence about figures where several processes share its port; empty where one takes all clients."""
        if not self.shares_its_port:
            return ""
        text = _(
            "%(count)d processes share port %(port)d (so_reuseport): an apply reloads and reads back each, PAUSE, KILL "
            "and the other commands reach each, and figures are sums over them"
        )
        return str(text) % {"count": taking_clients(self.processes), "port": self.port}

    def mark(
        self,
        state: PoolerState,
        server_version: str = "",
        error: str = "",
        facts: dict[str, int] | None = None,
        processes: list[ProcessRow] | None = None,
        refused: str | None = None,
    ) -> None:
        """Save the result of a check, unless the pooler was edited or removed in the meantime."""
        self.state, self.error, self.checked_at = state, error, timezone.now()
        found = {"state": state, "error": error, "checked_at": self.checked_at}
        if server_version:
            self.server_version = found["server_version"] = server_version
        if facts:
            self.facts = found["facts"] = facts
        if processes is not None and state == PoolerState.ONLINE:
            self.processes = found["processes"] = processes
        if refused is not None and state == PoolerState.ONLINE:
            self.commands_refused = found["commands_refused"] = refused
        Pooler.objects.filter(pk=self.pk, version=self.version).update(**found)


class PoolerFile(models.Model):
    """One uploaded file of a pooler; `setting` is the name of the setting that points to it."""

    belongs_to = ("pooler",)

    pooler = models.ForeignKey(Pooler, on_delete=models.CASCADE, related_name="given_files")
    setting = models.CharField(max_length=63)
    sealed_content = SealedField(default="")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["setting"]
        constraints = [models.UniqueConstraint(fields=["pooler", "setting"], name="one_file_of_a_setting")]

    def __str__(self) -> str:
        return f"{self.setting} of {self.pooler_id}"

    @property
    def secret_owner(self) -> str:
        """The context that the stored content is sealed with."""
        return f"file:{self.pooler_id}:{self.setting}"

    @property
    def content(self) -> str:
        """The text of the file in clear."""
        return crypto.unseal(self.sealed_content, self.secret_owner)

    @content.setter
    def content(self, content: str) -> None:
        self.sealed_content = crypto.seal(content, self.secret_owner)

"""Entries of running poolers: what clients can name as a database, whoever wrote it."""

import uuid
from typing import TypedDict

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext

from core.lib import addresses
from pools.models.clusters import Cluster
from pools.models.poolers import Pooler
from pools.models.pools import Mode, Pool


class LineSource(TypedDict):
    """The file and line of an entry."""

    file: str
    line: int


class EntryQuerySet(models.QuerySet["Entry"]):
    """Entries by who manages them."""

    def unmanaged(self) -> "EntryQuerySet":
        """Return those that no pool of the panel stands for."""
        return self.filter(pool=None)

    def found_by(self, words: str) -> "EntryQuerySet":
        """Return those with these words in their name, database or user."""
        return self.filter(Q(name__icontains=words) | Q(database__icontains=words) | Q(user__icontains=words))


class Entry(models.Model):
    """An entry of a pooler as its last check found it; the id stays as long as the pooler has the name.

    `pool` is the pool of the panel that it is, `cluster` the one that it leads to, by host and port. `size` and
    `reserve` hold for each user, and `user` is the role that all its clients work as; without one each works as itself.
    Where several processes share the pooler's port, each has a size, a reserve and a limit of its own.
    """

    belongs_to = ("pooler",)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    pooler = models.ForeignKey(Pooler, on_delete=models.CASCADE, related_name="entries")
    pool = models.ForeignKey(
        Pool, null=True, on_delete=models.CASCADE, related_name="entries"
    )  # its removal is verified
    cluster = models.ForeignKey(Cluster, null=True, on_delete=models.SET_NULL, related_name="entries")
    name = models.CharField(max_length=255)
    host = models.CharField(max_length=1000, default="", blank=True)  # several with commas; empty: the default socket
    port = models.PositiveIntegerField(null=True)
    addresses = models.JSONField(default=dict)  # name → addresses, of its hosts that the pooler resolved
    database = models.CharField(max_length=255, default="", blank=True)
    user = models.CharField(max_length=255, default="", blank=True)
    mode = models.CharField(max_length=12, choices=Mode.choices, default=Mode.SESSION)
    size = models.PositiveIntegerField(null=True)
    reserve = models.PositiveIntegerField(default=0)
    max_connections = models.PositiveIntegerField(default=0)  # limit of all users together; 0: no limit
    connections = models.PositiveIntegerField(default=0)  # connections of all processes to its server at the last check
    paused = models.BooleanField(default=False)
    disabled = models.BooleanField(default=False)
    automatic = models.BooleanField(default=False)  # the entry `*` of its pooler made it for a client
    paused_until = models.DateTimeField(null=True, blank=True)  # the panel paused it, and resumes it then
    source_file = models.CharField(max_length=500, default="", blank=True)  # place of its line, once the files are read
    source_line = models.PositiveIntegerField(null=True)
    kept_because = models.TextField(default="", blank=True)  # why a take-over left it as it is
    seen_at = models.DateTimeField()  # the time of its last change, or of the last proof of a `*`

    objects = EntryQuerySet.as_manager()

    class Meta:
        ordering = ["name", "pooler"]
        constraints = [models.UniqueConstraint(fields=["pooler", "name"], name="one_entry_of_a_name")]
        indexes = [models.Index(fields=["name"], condition=Q(pool=None), name="entries_not_managed")]

    def __str__(self) -> str:
        return self.name

    @property
    def is_fallback(self) -> bool:
        """True if it serves every name that has no entry of its own; the console lists only what it made."""
        return self.name == "*"

    @property
    def is_known_by_name_alone(self) -> bool:
        """True if the console proves that there is a `*`, while what its line says stands in files that nobody read."""
        return self.is_fallback and self.size is None

    @property
    def label(self) -> str:
        """The name that pages show."""
        return gettext("any other database") if self.is_fallback else self.name

    @property
    def source(self) -> LineSource | None:
        """The place of its line as `{file, line}`; None where no file was read."""
        return {"file": self.source_file, "line": self.source_line or 0} if self.source_file else None

    @property
    def most_connections(self) -> int | None:
        """The server connections that it may open; None where nothing limits them.

        Without a user of its own it has a pool for each role that logs in (PgBouncer's config manual, pool_size).
        """
        each = self.max_connections
        if self.user and self.size is not None:
            each = min(self.size + self.reserve, each or self.size + self.reserve)
        return each * self.pooler.process_count or None

    @property
    def address(self) -> str:
        """Its server's host and port as its line names them; the host is empty for the pooler's default socket."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" if self.port else host

    @property
    def unresolved(self) -> list[str]:
        """Those of its hosts that are names whose addresses nobody told the panel, which asks no name server."""
        hosts = [one.strip() for one in self.host.split(",")]
        return [one for one in hosts if addresses.is_name(one) and not self.addresses.get(one)]

    def as_pool(self) -> Pool:
        """Return an unsaved pool with its values, for what judges pools: advice, linters and connection strings."""
        return Pool(
            name=self.name,
            pooler=self.pooler,
            cluster=self.cluster,
            database=self.database or self.name,
            user=self.user,
            mode=self.mode,
            size=self.size or 1,
            settings={"reserve_pool": self.reserve} if self.reserve else {},
        )

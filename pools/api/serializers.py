"""Clusters, poolers and revisions as JSON; passwords are write-only. The rules are in `pools.inventory`."""

from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from core.lib.known_fields import KnownFields
from pools.clusters import topology
from pools.deployment.live_files import LiveFiles, ShownFile
from pools.inventory import budget, settlement
from pools.models import (
    Cluster,
    ClusterNode,
    ClusterState,
    ClusterStatus,
    Management,
    NodeRole,
    Pooler,
    ProcessRow,
    ProcessState,
    Revision,
    Step,
    WaitingSetting,
)
from pools.poolers import KINDS
from pools.poolers.advisory import Advisory

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise
    from rest_framework.utils.serializer_helpers import ReturnDict


def password_field(help_text: "StrOrPromise" = "") -> serializers.CharField:
    """Return a write-only field for a password, which is not trimmed."""
    return serializers.CharField(
        write_only=True,
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        help_text=help_text,
        style={"input_type": "password"},
    )


OF_PROGRAM = _("Of the program; null removes one, and so does an empty text unless it is a value (may_be_empty)")
OF_AWAITED = _("What is missing until each of `desired_processes` answers and was read back; empty for nothing")
OF_PROCESSES = _("What it means that several processes share its port (so_reuseport); empty for one process")
OF_PROCESS_STATE = _("`unreachable`: it was seen before; `stopped`: its main file is there, and it never was")
OF_UNMANAGED = _("What entries of poolers may take besides pools; those without a limit count with what is open")
OF_MANAGEMENT = _("`watched`: known by its console alone, and never changed; `managed`: the panel writes its files")
OF_COMMANDS = _("Why its console takes no command from the panel's login; empty where it does")
OF_PENDING = _("Whether any of its pools or settings is not verified as live yet")
OF_CHILDREN = _("Of a Pgpool-II: its children that were busy at the last apply and have not read its passwords yet")


class NodeSerializer(serializers.ModelSerializer[ClusterNode]):
    """Another server of a cluster, as the last check found it."""

    role = serializers.ChoiceField(NodeRole.choices, read_only=True, allow_null=True)

    class Meta:
        model = ClusterNode
        fields = [
            "id",
            "host",
            "port",
            "role",
            "state",
            "error",
            "streaming",
            "lag_bytes",
            "lag_s",
            "timeline",
            "checked_at",
        ]
        read_only_fields = fields


class Address(TypedDict):
    """The host and port on which a server listens."""

    host: str
    port: int


class AddressSerializer(serializers.Serializer[Address]):
    """The host and port on which a server listens."""

    host = serializers.CharField()
    port = serializers.IntegerField()


class ShownStatus(TypedDict):
    """The values of `ClusterStatusSerializer`, whose fields describe each."""

    state: str
    server_version: str
    max_connections: int | None
    reserved_connections: int | None
    available_connections: int | None
    allocated_connections: int
    experiment_connections: int
    unmanaged_connections: int
    unlimited_entries: int
    used_connections: int | None
    in_recovery: bool | None
    primary: Address
    nodes: QuerySet[ClusterNode]
    checked_at: datetime | None
    error: str


class ClusterStatusSerializer(serializers.Serializer[ShownStatus]):
    """The findings of the last check, and the connections that pools may take."""

    state = serializers.ChoiceField(ClusterState.choices)
    server_version = serializers.CharField(allow_blank=True)
    max_connections = serializers.IntegerField(allow_null=True)
    reserved_connections = serializers.IntegerField(
        allow_null=True, help_text=_("Both of PostgreSQL's reserves together")
    )
    available_connections = serializers.IntegerField(allow_null=True, help_text=_("What all pools together may take"))
    allocated_connections = serializers.IntegerField(help_text=_("What pools were given"))
    experiment_connections = serializers.IntegerField(help_text=_("Of these, to pools that go with their experiment"))
    unmanaged_connections = serializers.IntegerField(help_text=OF_UNMANAGED)
    unlimited_entries = serializers.IntegerField(help_text=_("Of these entries, those that nothing limits"))
    used_connections = serializers.IntegerField(allow_null=True)
    in_recovery = serializers.BooleanField(allow_null=True, help_text=_("Of the cluster's own address"))
    primary = AddressSerializer(help_text=_("Where pools and the panel find the primary: a node after a failover"))
    nodes = NodeSerializer(many=True)
    checked_at = serializers.DateTimeField(allow_null=True)
    error = serializers.CharField(allow_blank=True)


def status_of(cluster: Cluster, given: budget.Budget) -> ShownStatus:
    """Return the status of a cluster and its budget, as `ClusterStatusSerializer` shows them."""
    found: ClusterStatus = getattr(cluster, "status", None) or ClusterStatus(cluster=cluster)
    reserves = [found.superuser_reserved_connections, found.reserved_connections]
    host, port = topology.primary(cluster).address
    return {
        "state": found.state,
        "server_version": found.server_version,
        "max_connections": found.max_connections,
        "reserved_connections": None if None in reserves else sum(reserve or 0 for reserve in reserves),
        "available_connections": given.available,
        "allocated_connections": given.allocated,
        "experiment_connections": given.for_experiments,
        "unmanaged_connections": given.unmanaged.connections,
        "unlimited_entries": given.unmanaged.unlimited,
        "used_connections": found.used_connections,
        "in_recovery": found.in_recovery,
        "primary": {"host": host, "port": port},
        "nodes": cluster.nodes.all(),
        "checked_at": found.checked_at,
        "error": found.error,
    }


class ClusterSerializer(KnownFields, serializers.ModelSerializer[Cluster]):
    """A cluster; an edit may send the `version` that it was made from, so that no other edit is lost."""

    version = serializers.IntegerField(required=False, min_value=1)
    admin_password = password_field()
    status = serializers.SerializerMethodField()

    class Meta:
        model = Cluster
        fields = [
            "id",
            "version",
            "name",
            "host",
            "port",
            "admin_user",
            "admin_password",
            "maintenance_database",
            "sslmode",
            "sslrootcert",
            "memory_mb",
            "vcpus",
            "disk_gb",
            "set_aside_connections",
            "protected",
            "status",
            "created_at",
            "updated_at",
        ]
        extra_kwargs: dict[str, object] = {
            "name": {"validators": []}
        }  # pools.inventory.clusters says which names are taken

    @cached_property
    def budgets(self) -> dict[UUID, budget.Budget]:
        """The budgets of all the rows of this answer, by cluster."""
        rows: Any = self.parent.instance if self.parent else [self.instance]
        return budget.of_clusters(rows)

    @extend_schema_field(ClusterStatusSerializer())
    def get_status(self, cluster: Cluster) -> "ReturnDict[str, object]":
        """Return the last check, and the budget."""
        return ClusterStatusSerializer(status_of(cluster, self.budgets[cluster.pk])).data


class WaitingSettingSerializer(serializers.Serializer[WaitingSetting]):
    """A setting whose new value in the file is read only when the program starts."""

    name = serializers.CharField()
    live = serializers.CharField(allow_blank=True)
    wanted = serializers.CharField(allow_blank=True)


class AdvisorySerializer(serializers.Serializer[Advisory]):
    """A published vulnerability of a release."""

    cve = serializers.CharField()
    summary = serializers.CharField()
    only_if = serializers.CharField(allow_blank=True)
    fixed_in = serializers.CharField()
    packages = serializers.ListField(child=serializers.CharField(), help_text=_("Older packages that have the fix"))


class ProcessSerializer(serializers.Serializer[ProcessRow]):
    """One of the processes that take a pooler's clients, as the last check found it."""

    name = serializers.CharField(help_text=_("The name of the main file that it was started with"))
    main_file = serializers.CharField(default="", help_text=_("Its path"))
    pid = serializers.IntegerField(default=None, allow_null=True, help_text=_("Null where it can't be seen from here"))
    socket = serializers.CharField(allow_blank=True, help_text=_("The folder of its Unix socket"))
    peer_id = serializers.IntegerField(
        default=None, allow_null=True, help_text=_("Of a PgBouncer with peers; null for none")
    )
    version = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(ProcessState.choices, help_text=OF_PROCESS_STATE)


class PoolerSerializer(KnownFields, serializers.ModelSerializer[Pooler]):
    """A pooler with the result of its last check."""

    version = serializers.IntegerField(required=False, min_value=1)
    admin_password = password_field()
    settings = serializers.DictField(required=False, help_text=OF_PROGRAM)
    user_settings = serializers.DictField(child=serializers.DictField(), required=False)
    needs_restart = WaitingSettingSerializer(many=True, read_only=True)
    children_behind = serializers.IntegerField(source="behind", read_only=True, help_text=OF_CHILDREN)
    processes = ProcessSerializer(many=True, read_only=True)
    processes_note = serializers.CharField(read_only=True, help_text=OF_PROCESSES)
    processes_awaited = serializers.SerializerMethodField(help_text=OF_AWAITED)
    management = serializers.ChoiceField(Management.choices, read_only=True, help_text=OF_MANAGEMENT)
    commands_refused = serializers.CharField(read_only=True, help_text=OF_COMMANDS)
    advisories = serializers.SerializerMethodField()
    files_looked_at = serializers.DateTimeField(source="files_checked_at", read_only=True, allow_null=True)
    pending = serializers.SerializerMethodField(help_text=OF_PENDING)

    class Meta:
        model = Pooler
        fields = [
            "id",
            "version",
            "name",
            "kind",
            "host",
            "port",
            "pcp_port",
            "admin_user",
            "admin_password",
            "management",
            "config_dir",
            "config_file",
            "delivery",
            "ssh_host",
            "generator",
            "desired_processes",
            "client_host",
            "client_port",
            "stats_address",
            "commands_refused",
            "settings",
            "user_settings",
            "pending",
            "settings_state",
            "settings_reason",
            "needs_restart",
            "children_behind",
            "processes",
            "processes_note",
            "processes_awaited",
            "advisories",
            "state",
            "server_version",
            "checked_at",
            "files_looked_at",
            "error",
            "created_at",
            "updated_at",
        ]
        read_only_fields = [
            "settings_state",
            "settings_reason",
            "state",
            "server_version",
            "checked_at",
            "files_looked_at",
            "error",
        ]
        extra_kwargs: dict[str, object] = {
            "name": {"validators": []}
        }  # pools.inventory.poolers says which names are taken

    def to_representation(self, instance: Pooler) -> dict[str, object]:
        """Return the usual path of the main file where none was given."""
        representation = super().to_representation(instance)
        return representation | {"config_file": KINDS[instance.kind].main_path(instance)}

    @cached_property
    def _pending(self) -> set[UUID]:
        """The ids of those rows of this answer on which something is pending."""
        rows: Any = self.parent.instance if self.parent else [self.instance]
        return settlement.pending_among(rows)

    @extend_schema_field(serializers.BooleanField())
    def get_pending(self, pooler: Pooler) -> bool:
        """Return whether anything of it waits to be verified as live."""
        return pooler.pk in self._pending or bool(KINDS[pooler.kind].processes_awaited(pooler))

    @extend_schema_field(serializers.CharField())
    def get_processes_awaited(self, pooler: Pooler) -> str:
        """Return a sentence about the processes not yet read back; empty once all `desired_processes` were."""
        return KINDS[pooler.kind].processes_awaited(pooler)

    @extend_schema_field(AdvisorySerializer(many=True))
    def get_advisories(self, pooler: Pooler) -> "list[ReturnDict[str, object]]":
        """Return the known vulnerabilities of its release; a distribution may have fixed some in its package."""
        return [AdvisorySerializer(one).data for one in KINDS[pooler.kind].advisories(pooler.server_version)]


class AskedApplySerializer(KnownFields):
    """The choice between adopting manual edits of the files and overwriting them; without one they stay."""

    drift = serializers.ChoiceField(["adopt", "overwrite"], required=False)


class FileSerializer(serializers.Serializer[ShownFile]):
    """A configuration file with masked secrets."""

    name = serializers.CharField()
    content = serializers.CharField(allow_blank=True)


class ConfigSerializer(serializers.Serializer[LiveFiles]):
    """The live configuration of a pooler: the revision's number and its files."""

    state = serializers.CharField(
        help_text=_(
            "in sync, drifted, not applied yet, unreadable, not looked at (by the worker that has the files), "
            "unverified (while the panel is paused), or watched (the panel writes none)"
        )
    )
    revision = serializers.IntegerField(allow_null=True)
    files = FileSerializer(many=True)
    error = serializers.CharField(default="", help_text=_("Why the files can't be read, or are not inspected"))
    generator = serializers.CharField(
        required=False, help_text=_("The generator that has the files, if not this one: they are shown as applied")
    )
    looked_at = serializers.DateTimeField(required=False, help_text=_("When its worker last inspected them"))


class StepSerializer(serializers.Serializer[Step]):
    """A step of an apply."""

    at = serializers.DateTimeField()
    step = serializers.CharField()
    detail = serializers.CharField(allow_blank=True)


class RevisionSerializer(serializers.ModelSerializer[Revision]):
    """A rendered configuration and its outcome."""

    steps = StepSerializer(many=True, read_only=True)
    author = serializers.CharField(source="author.username", default=None, read_only=True, allow_null=True)

    class Meta:
        model = Revision
        fields = ["id", "number", "state", "reason", "cause", "summary", "steps", "author", "created_at", "finished_at"]
        read_only_fields = fields


class AskedSerializer(PoolerSerializer):
    """A pooler whose apply was requested; `detail` is why there was nothing to do."""

    detail = serializers.CharField(read_only=True, allow_blank=True)

    class Meta(PoolerSerializer.Meta):
        fields = [*PoolerSerializer.Meta.fields, "detail"]

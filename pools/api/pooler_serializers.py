"""Poolers as JSON; passwords are write-only. The rules are in `pools.inventory`."""

from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from core.lib.known_fields import KnownFields
from core.rest.compiled import CompiledSerializer
from core.rest.teams import EXAMPLE, OWNED, OwnedSerializer
from pools.api.example_values import POOLER
from pools.api.fields import password_field
from pools.api.health import HELP, HealthSerializer, as_json
from pools.inventory import settlement
from pools.models import Management, Pooler, ProcessState
from pools.monitoring import health
from pools.monitoring.health import KnownHealth
from pools.poolers import KINDS

if TYPE_CHECKING:
    from rest_framework.utils.serializer_helpers import ReturnDict

OF_PROGRAM = _("Of the program; null removes one, and so does an empty text unless it is a value (may_be_empty)")
OF_AWAITED = _("What is missing until each of `desired_processes` answers and was read back; empty for nothing")
OF_PROCESSES = _("What it means that several processes share its port (so_reuseport); empty for one process")
OF_PROCESS_STATE = _("`unreachable`: it was seen before; `stopped`: its main file is there, and it never was")
OF_MANAGEMENT = _("`watched`: known by its console alone, and never changed; `managed`: the panel writes its files")
OF_COMMANDS = _("Why its console takes no command from the panel's login; empty where it does")
OF_PENDING = _("Whether any of its pools or settings is not verified as live yet")
OF_CHILDREN = _("Of a Pgpool-II: its children that were busy at the last apply and have not read its passwords yet")


class WaitingSettingSerializer(CompiledSerializer):
    """A setting whose new value in the file is read only when the program starts."""

    name = serializers.CharField()
    live = serializers.CharField(allow_blank=True)
    wanted = serializers.CharField(allow_blank=True)

    example: dict[str, object] = {"name": "listen_port", "live": "6432", "wanted": "6543"}


class AdvisorySerializer(CompiledSerializer):
    """A published vulnerability of a release."""

    cve = serializers.CharField()
    summary = serializers.CharField()
    only_if = serializers.CharField(allow_blank=True)
    fixed_in = serializers.CharField()
    packages = serializers.ListField(child=serializers.CharField(), help_text=_("Older packages that have the fix"))

    example: dict[str, object] = {
        "cve": "CVE-2025-12819",
        "summary": "a client can set search_path in its startup parameters",
        "only_if": "if track_extra_parameters includes search_path",
        "fixed_in": "1.25.1",
        "packages": ["1.18.0-1+deb12u1"],
    }


class ProcessSerializer(CompiledSerializer):
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

    example: dict[str, object] = {
        "name": "pgbouncer.ini",
        "main_file": "/etc/pgbouncer/pgbouncer.ini",
        "pid": 812,
        "socket": "/run/pgbouncer",
        "peer_id": None,
        "version": "PgBouncer 1.24.1",
        "state": "online",
    }


class PoolerSerializer(OwnedSerializer, serializers.ModelSerializer[Pooler]):
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
    health = serializers.SerializerMethodField(help_text=HELP)
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
            *OWNED,
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
            "health",
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

    example: dict[str, object] = {
        "id": POOLER,
        "version": 3,
        "name": "pgbouncer-1",
        "host": "pgbouncer1.example.org",
        "port": 6432,
        "pcp_port": None,
        "admin_user": "pooldeck",
        "admin_password": "CONSOLE-PASSWORD",
        "management": "managed",
        "config_dir": "/etc/pgbouncer",
        "config_file": "/etc/pgbouncer/pgbouncer.ini",
        "ssh_host": None,
        "client_host": "pool.example.org",
        "client_port": 5432,
        "stats_address": "",
        "commands_refused": "",
        "generator": "local",
        "settings": {"max_client_conn": 500},
        "user_settings": {"reports": {"pool_mode": "session"}},
        **EXAMPLE,
        "settings_state": "applied",
        "settings_reason": "",
        "needs_restart": [],
        "children_behind": 0,
        "processes_note": "",
        "processes_awaited": "",
        "state": "online",
        "server_version": "1.25.1",
        "files_looked_at": "2026-03-05T16:12:30Z",
        "advisories": [],
    }

    def to_representation(self, instance: Pooler) -> dict[str, object]:
        """Return the usual path of the main file where none was given."""
        representation = super().to_representation(instance)
        return representation | {"config_file": KINDS[instance.kind].main_path(instance)}

    @cached_property
    def _pending(self) -> set[UUID]:
        """The ids of those rows of this answer on which something is pending."""
        rows: Any = self.parent.instance if self.parent else [self.instance]
        return settlement.pending_among(rows)

    @cached_property
    def _advisories(self) -> "dict[tuple[str, str], list[ReturnDict[str, object]]]":
        """The advisories of the releases in this answer, which most of its rows share, by kind and release."""
        return {}

    @extend_schema_field(serializers.BooleanField())
    def get_pending(self, pooler: Pooler) -> bool:
        """Return whether anything of it waits to be verified as live."""
        return pooler.pk in self._pending or bool(KINDS[pooler.kind].processes_awaited(pooler))

    @cached_property
    def _health(self) -> dict[UUID, KnownHealth]:
        """The health of the poolers of this answer, by id."""
        rows: Any = self.parent.instance if self.parent else [self.instance]
        return health.of_poolers(rows)

    @extend_schema_field(HealthSerializer())
    def get_health(self, pooler: Pooler) -> dict[str, object]:
        """Return the worst health of its pools and entries, and the time of its sample."""
        return as_json(self._health[pooler.pk])

    @extend_schema_field(serializers.CharField())
    def get_processes_awaited(self, pooler: Pooler) -> str:
        """Return a sentence about the processes not yet read back; empty once all `desired_processes` were."""
        return KINDS[pooler.kind].processes_awaited(pooler)

    @extend_schema_field(AdvisorySerializer(many=True))
    def get_advisories(self, pooler: Pooler) -> "list[ReturnDict[str, object]]":
        """Return the known vulnerabilities of its release; a distribution may have fixed some in its package."""
        release = pooler.kind, pooler.server_version
        if release not in self._advisories:
            found = KINDS[pooler.kind].advisories(pooler.server_version)
            self._advisories[release] = [AdvisorySerializer(one).data for one in found]
        return self._advisories[release]


class AskedApplySerializer(KnownFields):
    """The choice between adopting manual edits of the files and overwriting them; without one they stay."""

    drift = serializers.ChoiceField(["adopt", "overwrite"], required=False)


class AskedSerializer(PoolerSerializer):
    """A pooler whose apply was requested; `detail` is why there was nothing to do."""

    detail = serializers.CharField(read_only=True, allow_blank=True)

    class Meta(PoolerSerializer.Meta):
        fields = [*PoolerSerializer.Meta.fields, "detail"]

    example: dict[str, object] = {**PoolerSerializer.example, "detail": ""}

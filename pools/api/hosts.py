"""The REST API of hosts that are reached by SSH; all of it needs the scope `admin`."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ModelViewSet

from core.accounts.access import allow
from core.accounts.people.placement import Placement
from core.accounts.permissions import person
from core.lib.known_fields import KnownFields
from core.rest.teams import EXAMPLE, OWNED, OwnedSerializer
from pools.api.filters import HostFilter
from pools.api.versions import expected_version
from pools.hosts import keys
from pools.inventory import hosts
from pools.models import FoundPooler, FoundProcess, Host, PoolerKind


class ShownKey(TypedDict):
    """A key of the host's own."""

    type: str
    fingerprint: str


class HostKeySerializer(serializers.Serializer[ShownKey]):
    """A key of the host's own, by which the panel knows it."""

    type = serializers.CharField()
    fingerprint = serializers.CharField(help_text=_("As `ssh-keygen -lf` shows it"))

    example: dict[str, object] = {
        "type": "ssh-ed25519",
        "fingerprint": "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU",
    }


class InstalledProgramSerializer(serializers.Serializer[dict[str, str]]):
    """A program that is installed on a host."""

    path = serializers.CharField()
    version = serializers.CharField(allow_blank=True)
    fault = serializers.CharField(required=False, help_text=_("Why it does not work there (bwrap, by a trial)"))

    example: dict[str, object] = {"path": "/usr/sbin/pgbouncer", "version": "PgBouncer 1.24.1", "fault": ""}


class FoundProcessSerializer(serializers.Serializer[FoundProcess]):
    """A process of a pooler."""

    pid = serializers.IntegerField()
    user = serializers.CharField()
    main_file = serializers.CharField(allow_blank=True)

    example: dict[str, object] = {"pid": 812, "user": "postgres", "main_file": "/etc/pgbouncer/pgbouncer.ini"}


class FoundPoolerSerializer(serializers.Serializer[FoundPooler]):
    """A pooler that runs on a host; those of one kind that share their ports are one."""

    kind = serializers.ChoiceField(PoolerKind.choices)
    main_file = serializers.CharField(allow_blank=True, help_text=_("From its command line"))
    ports = serializers.ListField(child=serializers.IntegerField())
    addresses = serializers.ListField(
        child=serializers.CharField(),
        default=list,
        help_text=_("Where it listens on its first port: `0.0.0.0` and `::` are all addresses of the host"),
    )
    socket_folders = serializers.ListField(child=serializers.CharField())
    control_sockets = serializers.ListField(
        child=serializers.CharField(), default=list, help_text=_("Other Unix sockets, such as HAProxy's stats socket")
    )
    processes = FoundProcessSerializer(many=True)
    version = serializers.CharField(allow_blank=True)
    unit = serializers.CharField(allow_blank=True, help_text=_("Of systemd"))

    example: dict[str, object] = {
        "kind": "pgbouncer",
        "main_file": "/etc/pgbouncer/pgbouncer.ini",
        "ports": [6432],
        "addresses": ["127.0.0.1"],
        "socket_folders": ["/var/run/postgresql"],
        "control_sockets": [],
        "processes": [FoundProcessSerializer.example],
        "version": "PgBouncer 1.24.1",
        "unit": "pgbouncer.service",
    }


class FoundPoolersSerializer(serializers.Serializer[dict[str, list[FoundPooler]]]):
    """The poolers that run on a host."""

    results = FoundPoolerSerializer(many=True)


class ConfirmedKeySerializer(KnownFields):
    """The fingerprint that a person compared on the host itself."""

    fingerprint = serializers.CharField(max_length=200)

    example: dict[str, object] = {"fingerprint": HostKeySerializer.example["fingerprint"]}


class HostSerializer(OwnedSerializer, serializers.ModelSerializer[Host]):
    """A host with the account that the panel logs in to; `host_key` is null until a person has confirmed it."""

    version = serializers.IntegerField(required=False, min_value=1)
    authorized_keys_line = serializers.SerializerMethodField()
    host_key = serializers.SerializerMethodField()
    offered_host_key = serializers.SerializerMethodField()
    programs = serializers.DictField(child=InstalledProgramSerializer(), read_only=True)
    found = FoundPoolerSerializer(many=True, read_only=True, help_text=_("What `discover/` found last"))

    class Meta:
        model = Host
        fields = [
            "id",
            "version",
            "name",
            "address",
            "port",
            "user",
            "jump",
            *OWNED,
            "public_key",
            "authorized_keys_line",
            "host_key",
            "offered_host_key",
            "state",
            "error",
            "programs",
            "found",
            "discovered_at",
            "checked_at",
            "created_at",
            "updated_at",
        ]
        read_only_fields = ["public_key", "state", "error", "discovered_at", "checked_at"]
        extra_kwargs: dict[str, object] = {"name": {"validators": []}}  # pools.inventory.hosts refuses taken names

    example: dict[str, object] = {
        "id": "6a1d9c3e-2f4b-4e57-9b80-1c2d3e4f5a60",
        "version": 2,
        "name": "db-1",
        "address": "db1.example.org",
        "port": 22,
        "user": "postgres",
        "jump": None,
        **EXAMPLE,
        "public_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKl0…",
        "authorized_keys_line": (
            'restrict,port-forwarding,permitopen="localhost:6432",permitopen="127.0.0.1:6432",permitopen="[::1]:6432",'
            'permitopen="[/var/run/postgresql/.s.PGSQL.6432]:*" '
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKl0… pooldeck-6a1d9c3e-2f4b-4e57-9b80-1c2d3e4f5a60"
        ),
        "host_key": HostKeySerializer.example,
        "offered_host_key": None,
        "state": "online",
        "error": "",
        "programs": {"pgbouncer": {"path": "/usr/sbin/pgbouncer", "version": "PgBouncer 1.24.1"}},
        "found": [FoundPoolerSerializer.example],
    }

    def get_authorized_keys_line(self, host: Host) -> str:
        """Return the line that lets the panel in, for ~/.ssh/authorized_keys of the account."""
        return keys.authorized_keys_line(host)

    @extend_schema_field(HostKeySerializer(allow_null=True))
    def get_host_key(self, host: Host) -> ShownKey | None:
        """Return the key that a person has confirmed; null before."""
        return _host_key(host.host_key)

    @extend_schema_field(HostKeySerializer(allow_null=True))
    def get_offered_host_key(self, host: Host) -> ShownKey | None:
        """Return the other key that the host showed at the last check, which may be confirmed; null for none."""
        return _host_key(host.offered_host_key)


def _host_key(key: str) -> ShownKey | None:
    return {"type": keys.type_of(key), "fingerprint": keys.fingerprint(key)} if key else None


class HostViewSet(ModelViewSet[Host]):
    """Hosts that the panel reaches by SSH, each with a key of its own."""

    queryset = Host.objects.prefetch_related("led_to", "poolers", "shared_with")
    serializer_class = HostSerializer
    lookup_value_converter = "uuid"
    operations = {
        "list": "host.view",
        "retrieve": "host.view",
        "create": "host.create",
        "update": "host.change",
        "partial_update": "host.change",
        "destroy": "host.remove",
        "check": "host.change",
        "confirm_key": "host.change",
        "discover": "host.change",
    }
    filterset_class = HostFilter
    search_fields = ["name", "address"]
    ordering_fields = ["name", "address", "state", "created_at", "updated_at"]

    def perform_create(self, serializer: serializers.BaseSerializer[Host]) -> None:
        """Register a host, make its key, and ask which key it has; an unreachable one is saved too."""
        values = serializer.validated_data
        allow(self.request, values.get("jump"), to="host.use")
        placement = Placement.out_of(values)
        team = placement.team_of_new(self.request, "host.create")
        host = hosts.register(values, person(self.request.user), team=team)
        placement.put(self.request, host)
        serializer.instance = host

    def perform_update(self, serializer: serializers.BaseSerializer[Host]) -> None:
        """Change a host unless it was edited since `version`; its confirmed key stays the only one accepted."""
        values = serializer.validated_data
        allow(self.request, values.get("jump"), to="host.use")
        host, placement, version = self.get_object(), Placement.out_of(values), expected_version(self.request, values)
        placement.check(self.request, host)
        host = hosts.change(host, values, version, person(self.request.user))
        placement.put(self.request, host)
        serializer.instance = host

    def perform_destroy(self, instance: Host) -> None:
        """Remove a host's record, and the panel's key with it; 409 while something needs it."""
        hosts.remove(instance)

    @extend_schema(request=None, responses=HostSerializer)
    @action(detail=True, methods=["post"])
    def check(self, request: Request, pk: str) -> Response:
        """Log in now and record the result; while no key is confirmed, ask only which one the host has."""
        host = self.get_object()
        hosts.check(host)
        return Response(self.get_serializer(host).data)

    @extend_schema(request=ConfirmedKeySerializer, responses=HostSerializer)
    @action(detail=True, methods=["post"], url_path="confirm-key")
    def confirm_key(self, request: Request, pk: str) -> Response:
        """Pin the offered key, whose fingerprint a person has compared on the host; then log in."""
        serializer = ConfirmedKeySerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        host = hosts.confirm_host_key(self.get_object(), serializer.validated_data["fingerprint"], person(request.user))
        return Response(self.get_serializer(host).data)

    @extend_schema(request=None, responses=FoundPoolersSerializer)
    @action(detail=True, methods=["post"])
    def discover(self, request: Request, pk: str) -> Response:
        """Find the poolers that run there; 502 where the host can't be reached."""
        return Response(FoundPoolersSerializer({"results": hosts.discover(self.get_object())}).data)

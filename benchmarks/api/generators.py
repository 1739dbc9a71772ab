"""The REST API of generators: the known workers, their engines, and the runs that they execute."""

from typing import Any, ClassVar
from uuid import UUID

from django.http import Http404
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from benchmarks.api.example_values import RUN
from benchmarks.generators import registry
from benchmarks.generators.registry import GeneratorStatus
from benchmarks.models import Generator
from benchmarks.models.generators import RoundTrip
from core.accounts.access import Access
from core.lib.known_fields import KnownFields
from pools.api.example_values import CLUSTER
from pools.models import Host

NAME = OpenApiParameter("name", str, OpenApiParameter.PATH, description=_("The generator's name"))


class RoundTripSerializer(serializers.Serializer[Any]):
    """Round trip of `SELECT 1` from a generator to a cluster, or the error."""

    min_ms = serializers.FloatField(required=False)
    avg_ms = serializers.FloatField(required=False)
    max_ms = serializers.FloatField(required=False)
    connect_ms = serializers.FloatField(required=False)
    error = serializers.CharField(required=False)

    example: RoundTrip = {"min_ms": 0.21, "avg_ms": 0.26, "max_ms": 0.44, "connect_ms": 4.8}


class HostGeneratorSerializer(KnownFields):
    """A host that is to be a generator."""

    ssh_host = serializers.PrimaryKeyRelatedField(queryset=Host.objects.all(), help_text=_("A checked host's id"))
    name = serializers.CharField(max_length=63, default="", allow_blank=True, help_text=_("Empty: the host's name"))


class GeneratorSerializer(serializers.Serializer[Any]):
    """A worker that executes runs, with its engines and current runs.

    `cores` and `engines` are null until its first report, which it sends at start and every few minutes.
    """

    name = serializers.CharField()
    kind = serializers.SerializerMethodField(help_text=_("`worker`, or `ssh` for a host that workers reach by SSH"))
    ssh_host = serializers.UUIDField(source="ssh_host.pk", default=None, allow_null=True)
    fault = serializers.CharField(help_text=_("Why the host can't be used, by its last check; empty: it can"))
    script_fault = serializers.CharField(
        help_text=_("Why the host can't be given scripts of one's own, by its last check; empty: it can")
    )
    last_seen_at = serializers.DateTimeField()
    alive = serializers.BooleanField(help_text=_("Whether its last heartbeat is less than 15 seconds old"))
    started_at = serializers.DateTimeField(allow_null=True)
    host = serializers.CharField(allow_blank=True)
    cores = serializers.IntegerField(allow_null=True)
    engines = serializers.DictField(
        child=serializers.CharField(), allow_null=True, help_text=_("Engine → version of the program found there")
    )
    files = serializers.DictField(
        child=serializers.DictField(child=serializers.CharField(allow_blank=True)),
        allow_null=True,
        help_text=_(
            "Engine → file of that host that runs may name (a JMeter plan, tpcc's script) → why it can't be used "
            "(empty: it can); null until it has reported"
        ),
    )
    round_trips = serializers.DictField(child=RoundTripSerializer(), help_text=_("By a cluster's id"))
    queue = serializers.CharField(help_text=_("The Celery queue of this generator alone"))
    run = serializers.UUIDField(source="run.pk", default=None, allow_null=True)
    runs = serializers.SerializerMethodField(help_text=_("Runs that it executes now; several only with `alongside`"))
    queued = serializers.IntegerField(help_text=_("Runs that wait for this generator by name"))

    example: dict[str, object] = {
        "name": "local",
        "kind": "worker",
        "ssh_host": None,
        "fault": "",
        "script_fault": "",
        "last_seen_at": "2026-03-05T16:12:03Z",
        "alive": True,
        "started_at": "2026-03-05T08:00:00Z",
        "host": "bench1.example.org",
        "cores": 8,
        "engines": {"pgbench": "17.6", "sysbench": "1.0.20"},
        "files": {"jmeter": {"orders.jmx": ""}},
        "round_trips": {CLUSTER: RoundTripSerializer.example},
        "queue": "runs-local",
        "run": RUN,
        "runs": [RUN],
        "queued": 0,
    }

    def get_kind(self, generator: GeneratorStatus) -> str:
        """Return whether a worker or SSH carries its runs."""
        return "ssh" if generator.ssh_host else "worker"

    def get_runs(self, generator: GeneratorStatus) -> list[UUID]:
        """Return the ids, earliest run first."""
        return [run.pk for run in generator.runs]


class GeneratorViewSet(GenericViewSet[Generator]):
    """Generators by name; 503 while Redis is unreachable and their state unknown."""

    serializer_class = GeneratorSerializer
    filter_backends = []
    queryset = Generator.objects.none()
    lookup_value_converter = "str"
    operations: ClassVar = {
        **dict.fromkeys(("list", "retrieve"), "generator.view"),
        **dict.fromkeys(("create", "destroy"), "generator.change"),
    }

    @extend_schema(responses=GeneratorSerializer(many=True))
    def list(self, request: Request) -> Response:
        """List generators with heartbeat, host, cores, engines, round trips to clusters, and current runs."""
        page = self.paginate_queryset(registry.as_seen_by(Access.of(request), registry.known()))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    @extend_schema(request=HostGeneratorSerializer, responses={201: GeneratorSerializer})
    def create(self, request: Request) -> Response:
        """Register a host that is reached by SSH as a generator; its pgbench is what runs use."""
        serializer = HostGeneratorSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        generator = registry.add_host(serializer.validated_data["ssh_host"], serializer.validated_data["name"])
        found = next(one for one in registry.known_or_remembered()[0] if one.name == generator.name)
        return Response(self.get_serializer(found).data, status=status.HTTP_201_CREATED)

    @extend_schema(parameters=[NAME])
    def retrieve(self, request: Request, pk: str) -> Response:
        """Return one generator by its name."""
        found = [one for one in registry.known() if one.name == pk]
        if not found:
            raise Http404
        return Response(self.get_serializer(registry.as_seen_by(Access.of(request), found)[0]).data)

    @extend_schema(parameters=[NAME], responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Remove a generator that is gone; 409 while it is alive."""
        if not registry.forget(pk):
            raise Http404
        return Response(status=status.HTTP_204_NO_CONTENT)

"""The REST API of runs: start, follow, cancel, import."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Prefetch
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from benchmarks.api.annotations import AnnotationsOfRun
from benchmarks.api.asked_runs import AskedRun, AskedRunSerializer, ImportSerializer
from benchmarks.api.exports import ExportsOfRun
from benchmarks.api.latencies import LatenciesOfRun
from benchmarks.api.observations import ObservationsOfRun
from benchmarks.api.rates import RateOfRun
from benchmarks.api.serializers import LogSerializer, RunSerializer, SampleSerializer, WaitingSerializer
from benchmarks.errors import IllegalTransition, InvalidGenerators, InvalidOptions, InvalidSweep, InvalidTarget
from benchmarks.forms.run_filter import RunFilter
from benchmarks.models import FINAL, Run, RunOutput, Sample, Status
from benchmarks.models.runs import SEARCHED, RunQuerySet
from benchmarks.results import import_output
from benchmarks.runs.submission import cancel as cancellation
from benchmarks.runs.submission import idempotency
from benchmarks.runs.submission import queue_status as queue
from benchmarks.runs.submission import submit as submission
from benchmarks.runs.submission.submit import Placement, RunRequest
from core.accounts.access import Access
from core.accounts.models import Scope
from core.accounts.people.ownership import team_of_new
from core.accounts.permissions import holds, person
from core.lib.wait_param import WAIT
from core.rest.compiled import listed
from core.rest.parsers import StorableJSONParser
from core.rest.waits import Waits

# In the order of an index: by their number alone, SQLite goes through all runs.
PARTS = Run.objects.only("pk", "parent").order_by("parent_id", "number")
REPEATED = {"Idempotent-Replayed": "true"}
REPLAYED = OpenApiResponse(
    RunSerializer,
    _("The run that an earlier request with this key started, in its current state; `Idempotent-Replayed: true`"),
)
KEY = OpenApiParameter(
    idempotency.HEADER,
    location=OpenApiParameter.HEADER,
    pattern=r"^[ -~]{1,200}$",
    description=_(
        "1 to 200 printable ASCII characters of your choice, private to your account and kept for 24 hours. The same "
        "body again: 200 and the run that it started; another body: 422; while the first request is being processed: "
        "409. A refused request starts nothing and releases its key"
    ),
)


@contextmanager
def field_errors() -> Iterator[None]:
    """Report errors of target, options or text under that field of the request body."""
    try:
        yield
    except InvalidTarget as error:
        raise ValidationError({"target": error.errors}) from error
    except InvalidOptions as error:
        raise ValidationError({"options": error.errors}) from error
    except (InvalidGenerators, InvalidSweep) as error:
        raise ValidationError(error.errors) from error
    except import_output.NotImportable as error:
        raise ValidationError({"text": [str(error)]}) from error


def submit(asked: AskedRun, author: User, is_admin: bool, access: Access, run_id: UUID | None = None) -> Run:
    """Queue the requested runs; return the first, which gets `run_id` if one is given."""
    request = RunRequest(
        target=asked["target"],
        options=asked["options"],
        engine=asked["engine"],
        purpose=asked["purpose"],
        name=asked["name"],
        confirm=asked["confirm"],
        thresholds=asked["thresholds"],
        tags=asked["tags"],
        repeat=asked["repeat"],
        pair=asked["pair"],
        sweep_clients=asked["sweep_clients"],
        author=author,
        access=access,
        is_admin=is_admin,
        run_id=run_id,
        place=Placement(asked["generators"], asked["alongside"]),
    )
    return submission.submit(request)[0]


# Columns that no answer has, of which the first is long.
UNLISTED = (
    "evidence",
    "searched",
    "author",
    "by_admin",
    "arm",
    "ready_at",
    "start_at",
    "lease_until",
    "cancel_requested_at",
    "requested_rate",
    "requested_rate_stage",
    "load_began_at",
)


class RunViewSet(
    Waits[Run],
    mixins.ListModelMixin,
    mixins.RetrieveModelMixin,
    LatenciesOfRun,
    ObservationsOfRun,
    AnnotationsOfRun,
    RateOfRun,
    ExportsOfRun,
):
    """Executions of a load program against a cluster directly or through a pool."""

    queryset = Run.objects.prefetch_related(Prefetch("parts", PARTS), "tags")
    serializer_class = RunSerializer
    lookup_value_converter = "uuid"
    write_scope = "run"  # a token needs it for methods that are missing here, before it gets 405
    destructive = frozenset({"cancel"})
    harmless = frozenset({"baseline"})
    operations: ClassVar = {
        **dict.fromkeys(("list", "retrieve", "waiting", "samples", "log", "latencies", "looks"), "run.view"),
        **dict.fromkeys(("observations", "evidence", "export"), "run.view"),
        "create": "run.start",
        "cancel": "run.cancel",
        "rate": "run.start",
        "partial_update": "run.annotate",
        "baseline": "run.annotate",
        "import_": "run.import",
    }
    filterset_class = RunFilter
    search_fields = SEARCHED
    private_search_fields = ["error"]
    ordering_fields = ["number", "name", "status", "created_at", "started_at", "finished_at"]

    def get_queryset(self) -> RunQuerySet:
        """Leave the parts of distributed runs out of lists, except with `parent`."""
        runs: Any = super().get_queryset()
        found: RunQuerySet = runs
        if self.action != "list":
            return found
        found = found.prefetch_related(None).prefetch_related(listed("parts", PARTS), listed("tags")).defer(*UNLISTED)
        return found if self.request.query_params.get("parent") else found.top_level()

    @extend_schema(parameters=[WAIT])
    def retrieve(self, request: Request, pk: str) -> Response:
        """Return a run; with `wait`, once it has ended."""
        with self.may_wait():
            return Response(self.get_serializer(self._until_ended(self.get_object())).data)

    @extend_schema(request=AskedRunSerializer, parameters=[KEY, WAIT], responses={201: RunSerializer, 200: REPLAYED})
    def create(self, request: Request) -> Response:
        """Queue a run. With `pair` or `repeat`, queue several that run one after the other; the first one is returned,
        `runs/?group=` lists them all. With an `Idempotency-Key`, a repeated request starts nothing more."""
        serializer = AskedRunSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        body: AskedRun = serializer.validated_data
        author, key = person(request.user), request.headers.get(idempotency.HEADER)
        begin = partial(submit, body, author, holds(author, request.auth, Scope.ADMIN), Access.of(request))
        with self.may_wait():
            with field_errors():
                run, replayed = idempotency.start(key, author, body, begin)
            run = self._until_ended(run)
        return Response(self.get_serializer(run).data, headers=REPEATED) if replayed else self._created(run)

    @extend_schema(request=ImportSerializer, responses={201: RunSerializer})
    @action(detail=False, methods=["post"], url_path="import", parser_classes=[StorableJSONParser, MultiPartParser])
    def import_(self, request: Request) -> Response:
        """Make a finished run from the output of any pgbench or sysbench.

        JSON is limited to 2.5 MB as everywhere; a `file` in multipart/form-data to POOLDECK_OUTPUT_CAP_BYTES.
        """
        serializer = ImportSerializer(data=request.data, context=self.get_serializer_context())
        serializer.is_valid(raise_exception=True)
        values, author = serializer.validated_data, person(request.user)
        team = team_of_new(request, values.pop("team", None), "run.import")
        make = import_output.import_file if "file" in values else import_output.import_output
        with field_errors():
            return self._created(make(**values, author=author, team=team))

    def needs_no_reason(self, request: Request) -> bool:
        """Tell whether the caller started the run that they cancel; see `core.accounts.reasons`."""
        return Run.objects.filter(pk=self.kwargs["pk"], author=person(request.user)).exists()

    @extend_schema(request=None, responses=RunSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """Cancel the run: a queued one at once, an active one at its worker's next check; 409 if it has ended."""
        run = self.get_object()
        cancellation.cancel(run)
        if run.is_final and run.status != Status.CANCELLED:
            text = gettext("%(run)s is already %(status)s: there is nothing to cancel")
            raise IllegalTransition(text % {"run": run, "status": run.get_status_display()})
        return Response(self.get_serializer(run).data)

    @extend_schema(responses=WaitingSerializer)
    @action(detail=True)
    def waiting(self, request: Request, pk: str) -> Response:
        """Return why a queued run has not started yet; no sentences if it will start at the next poll."""
        found = queue.waits_for(self.get_object()) or queue.QueueStatus(None, 0, None)
        return Response(WaitingSerializer(found).data)

    @extend_schema(responses=SampleSerializer(many=True), filters=False)
    @action(detail=True)
    def samples(self, request: Request, pk: str) -> Response:
        """List the progress intervals so far, in order."""
        rows: Any = Sample.objects.filter(run=self.get_object())
        return self.get_paginated_response(SampleSerializer(self.paginate_queryset(rows), many=True).data)

    @extend_schema(responses=LogSerializer)
    @action(detail=True)
    def log(self, request: Request, pk: str) -> Response:
        """Return the program's output so far."""
        run = self.get_object()
        output: Any = RunOutput.objects.filter(run=run).first() or RunOutput(run=run)
        return Response(LogSerializer(output).data)

    def _until_ended(self, run: Run) -> Run:
        """Return the run, whose answer waits for its end as long as the caller asks for."""
        ended, found = Run.objects.filter(pk=run.pk, status__in=FINAL), self.queryset.filter(pk=run.pk)
        if not run.is_final:
            self.until(run, ended.exists, lambda: self.get_serializer(found.get()).data)
        return run

    def _created(self, run: Run) -> Response:
        return Response(self.get_serializer(run).data, status=status.HTTP_201_CREATED)

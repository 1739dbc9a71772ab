"""The REST API of a pooler's take-over and release."""

from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from core.accounts.access import allow
from core.accounts.permissions import person
from core.lib.known_fields import KnownFields
from core.lib.wait_param import WAIT
from core.rest.waits import Waits
from pools.api.example_values import CLUSTER
from pools.api.pooler_serializers import AskedSerializer
from pools.config_files.deliveries import DELIVERIES
from pools.deployment import take_overs
from pools.deployment.take_over_plans import KEPT, POOL
from pools.errors import InvalidValues
from pools.inventory import poolers, settlement
from pools.models import Host, Pooler, TakeOver, delivery_choices
from pools.poolers import KINDS


class AskedTakeOverSerializer(KnownFields):
    """A take-over, or with `dry_run` its preview, which writes nothing."""

    config_file = serializers.CharField(
        max_length=500, required=False, help_text=_("The path of its main file; else the one that it was started with")
    )
    delivery = serializers.ChoiceField(
        delivery_choices(), required=False, help_text=_("How its files are read and written; else as the pooler has it")
    )
    host = serializers.PrimaryKeyRelatedField(
        queryset=Host.objects.all(), required=False, allow_null=True, help_text=_("The host, for delivery by SSH")
    )
    generator = serializers.CharField(
        max_length=63, required=False, help_text=_("The worker that can write its files; else any")
    )
    entries = serializers.ListField(
        child=serializers.CharField(), required=False, help_text=_("The entries that become pools; else all that can")
    )
    dry_run = serializers.BooleanField(default=False)


class PlaceSerializer(serializers.Serializer[Any]):
    """Where a line stands."""

    file = serializers.CharField()
    line = serializers.IntegerField()

    example: dict[str, object] = {"file": "/etc/pgbouncer/databases.ini", "line": 12}


class TriedLoginSerializer(serializers.Serializer[Any]):
    """The login that was tried through an entry; `role` is empty where no password is known."""

    role = serializers.CharField()
    error = serializers.CharField(help_text=_("Why no login got through the entry; empty where one did"))

    example: dict[str, object] = {"role": "reports_app", "error": ""}


class EntryClusterSerializer(serializers.Serializer[Any]):
    """The registered cluster that an entry leads to."""

    id = serializers.UUIDField()
    name = serializers.CharField()

    example: dict[str, object] = {"id": CLUSTER, "name": "orders"}


class UnregisteredServerSerializer(serializers.Serializer[Any]):
    """The address of a server that no cluster is registered for."""

    host = serializers.CharField()
    port = serializers.IntegerField()

    example: dict[str, object] = {"host": "db2.example.org", "port": 5432}


class ProposedPoolSerializer(serializers.Serializer[Any]):
    """The pool that an entry would become."""

    database = serializers.CharField()
    user = serializers.CharField()
    mode = serializers.CharField()
    size = serializers.IntegerField()
    settings = serializers.DictField()

    example: dict[str, object] = {
        "database": "orders",
        "user": "reports_app",
        "mode": "session",
        "size": 10,
        "settings": {},
    }


class ProposedEntrySerializer(serializers.Serializer[Any]):
    """What becomes of an entry; `register` is the address of a server that no cluster is registered for."""

    name = serializers.CharField()
    becomes = serializers.ChoiceField([POOL, KEPT])
    because = serializers.CharField(help_text=_("Why it stays as it is"))
    source = PlaceSerializer()  # type: ignore[assignment]  # a field of this name, as Entry has it
    login = TriedLoginSerializer()
    cluster = EntryClusterSerializer(allow_null=True)
    pool = ProposedPoolSerializer(allow_null=True)
    register = UnregisteredServerSerializer(allow_null=True)

    example: dict[str, object] = {"name": "reports", "becomes": "pool", "because": "", "register": None}


class ReadFileSerializer(serializers.Serializer[Any]):
    """A file that the pooler reads, with its digest."""

    path = serializers.CharField()
    role = serializers.CharField()
    sha256 = serializers.CharField()

    example: dict[str, object] = {
        "path": "/etc/pgbouncer/pgbouncer.ini",
        "role": "main",
        "sha256": "20ac68ede74ab427133be99d1d7f16e3233c1bf3ae5242e482df8db35b436968",
    }


class FileChangeSerializer(serializers.Serializer[Any]):
    """What a take-over would change in one file."""

    file = serializers.CharField()
    diff = serializers.CharField(help_text=_("As diff -u writes it, secrets masked"))

    example: dict[str, object] = {
        "file": "/etc/pgbouncer/databases.ini",
        "diff": (
            "@@ -12 +12 @@\n"
            "-reports = host=db1.example.org dbname=orders user=reports_app\n"
            "+; taken over by Pooldeck: reports = host=db1.example.org dbname=orders user=reports_app\n"
        ),
    }


class TakeOverPreviewSerializer(serializers.Serializer[Any]):
    """What a take-over would do; with any of `blockers` it can't be asked for."""

    entries = ProposedEntrySerializer(many=True)
    files = ReadFileSerializer(many=True)
    changes = FileChangeSerializer(many=True)
    blockers = serializers.ListField(child=serializers.CharField())
    notes = serializers.ListField(child=serializers.CharField(), help_text=_("What has to be known before"))

    example: dict[str, object] = {"blockers": [], "notes": []}


class TakeOverActions(Waits[Pooler]):
    """Actions that lead from a watched pooler to a managed one, and back."""

    @extend_schema(
        request=AskedTakeOverSerializer,
        parameters=[WAIT],
        responses={200: TakeOverPreviewSerializer, 202: AskedSerializer},
    )
    @action(detail=True, methods=["post"], url_path="take-over")
    def take_over(self, request: Request, pk: str) -> Response:
        """Take over a running pooler; with `dry_run` return what would become of its entries and files."""
        serializer = AskedTakeOverSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        values = serializer.validated_data
        pooler = self.get_object()
        allow(request, values.get("host"), to="host.use")
        _refuse_fetched(values, pooler)
        place = poolers.checked_place(pooler, values.get("delivery"), values.get("host"), values.get("generator"))
        config_file, names = values.get("config_file", ""), values.get("entries")
        if values["dry_run"]:
            with take_overs.steps_of(pooler).planned(place.applied_to(pooler), config_file, names) as plan:
                return Response(TakeOverPreviewSerializer(plan.preview()).data)
        place.record(pooler)
        with self.may_wait():
            return self._answered(take_overs.request(pooler, config_file, names, person(request.user)))

    @extend_schema(request=None, parameters=[WAIT], responses={202: AskedSerializer})
    @action(detail=True, methods=["post"], url_path="let-go")
    def let_go(self, request: Request, pk: str) -> Response:
        """Give a pooler that was taken over its files back, as they were, and watch it again."""
        with self.may_wait():
            return self._answered(take_overs.request_release(self.get_object(), person(request.user)))

    def _answered(self, taken: TakeOver) -> Response:
        def answer() -> object:
            taken.refresh_from_db()
            return self.get_serializer(self.get_object()).data | {"detail": taken.reason}

        self.until(taken.pooler, lambda: settlement.is_take_over_settled(taken.pk), answer)
        return Response(answer(), status=status.HTTP_202_ACCEPTED)


def _refuse_fetched(values: dict[str, object], pooler: Pooler) -> None:
    delivery = DELIVERIES.get(str(values.get("delivery", "")))
    if delivery is None or delivery.writes:
        return
    if not KINDS[pooler.kind].is_fetchable:
        text = gettext(
            "a take-over reads and rewrites the files of the running %(kind)s, which can't be done where its host "
            "fetches them: use the delivery worker or ssh"
        )
        raise InvalidValues({"delivery": [text % {"kind": pooler.get_kind_display()}]})
    text = gettext(
        "a take-over reads and rewrites the files of the running PgBouncer, which can't be read where its host "
        "fetches them: let its main file include the panel's files, then set its delivery to %(delivery)s "
        "and its config_dir, which leaves its own entries as they are"
    )
    raise InvalidValues({"delivery": [text % values]})

"""The REST API of a run's export: CSV, JSON, HTML, or the program's own output."""

from django.http.response import HttpResponseBase
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.viewsets import GenericViewSet

from benchmarks.models import Run
from benchmarks.results.export import formats

AS = OpenApiParameter("as", str, enum=list(formats.MAKERS), description=_("Format of the file; default: `json`"))


class ExportsOfRun(GenericViewSet[Run]):
    """`runs/{id}/evidence/` and `runs/{id}/export/`."""

    @extend_schema(responses=OpenApiTypes.OBJECT, filters=False)
    @action(detail=True)
    def evidence(self, request: Request, pk: str) -> HttpResponseBase:
        """Return the full record of the run: command, versions, settings, revision, hardware, samples."""
        return formats.stream(self.get_object(), "json", request._request)

    @extend_schema(responses={(200, "*/*"): OpenApiTypes.BINARY}, parameters=[AS], filters=False)
    @action(detail=True)
    def export(self, request: Request, pk: str) -> HttpResponseBase:
        """Return the run as a file: `csv` samples, `json` full record, `html` page, `log` program output."""
        kind = request.query_params.get("as", "json")
        if kind not in formats.MAKERS:
            text = gettext("%(format)r is not an export format: choose one of %(choices)s")
            raise ValidationError({"as": [text % {"format": kind, "choices": ", ".join(formats.MAKERS)}]})
        return formats.answer(self.get_object(), kind, request._request)

"""A run to take away, over the API: CSV, JSON, HTML, or the program's own output."""

from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.viewsets import GenericViewSet

from benchmarks.models import Run
from benchmarks.results.export import formats

AS = OpenApiParameter("as", str, enum=list(formats.MAKERS), description="What kind of file; `json` where left out")


class ExportsOfRun(GenericViewSet[Run]):
    """`runs/{id}/evidence/` and `runs/{id}/export/`."""

    @extend_schema(responses=OpenApiTypes.OBJECT, filters=False)
    @action(detail=True)
    def evidence(self, request: Request, pk: str) -> HttpResponseBase:
        """All that is known of the run in one document: command, versions, settings, revision, hardware, samples."""
        return formats.stream(self.get_object(), "json", request._request)

    @extend_schema(responses={(200, "*/*"): OpenApiTypes.BINARY}, parameters=[AS], filters=False)
    @action(detail=True)
    def export(self, request: Request, pk: str) -> HttpResponseBase:
        """The run as a file: `csv` its samples, `json` its evidence, `html` its page, `log` what was printed."""
        kind = request.query_params.get("as", "json")
        if kind not in formats.MAKERS:
            raise ValidationError({"as": [f"{kind!r} is no kind of file here: use one of {', '.join(formats.MAKERS)}"]})
        return formats.answer(self.get_object(), kind, request._request)

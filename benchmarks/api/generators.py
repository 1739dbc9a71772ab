"""The REST API of generators: the workers that were seen, and what they do."""

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from benchmarks import generators
from benchmarks.api.serializers import GeneratorSerializer
from benchmarks.models import ACTIVE, Run


class GeneratorViewSet(GenericViewSet[Run]):
    """The generators of the last week, the latest seen first."""

    serializer_class = GeneratorSerializer
    filter_backends = []
    queryset = Run.objects.none()

    @extend_schema(responses=GeneratorSerializer(many=True))
    def list(self, request: Request) -> Response:
        """Name, last heartbeat, and the run that it carries; 503 while Redis can't be asked."""
        running = dict(Run.objects.filter(status__in=ACTIVE).order_by().values_list("generator", "pk"))
        now = timezone.now()
        rows = [
            {
                "name": found.name,
                "last_seen_at": found.last_seen_at,
                "alive": found.is_alive(now),
                "run": running.get(found.name),
            }
            for found in generators.seen()
        ]
        return self.get_paginated_response(self.get_serializer(self.paginate_queryset(rows), many=True).data)

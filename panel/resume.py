"""The page and the API call that let a paused panel go on, once a person has looked where it would write."""

import logging

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path
from django.views.decorators.http import require_http_methods, require_safe
from drf_spectacular.utils import extend_schema
from kombu.exceptions import OperationalError
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from panel.installation import pausing
from panel.installation.models import Installation
from panel.lib.access import staff_only
from pools import tasks
from pools.models import Cluster, Pooler

logger = logging.getLogger(__name__)


def resume(user: object) -> None:
    """Let tasks go on, and have everything looked at first."""
    pausing.resume()
    logger.warning("resumed by %s", user)
    try:
        tasks.check_everything.delay()
        tasks.check_drift.delay()
    except OperationalError as error:
        logger.warning("servers are looked at when the queue is back: %s", error)


@require_safe
def installation(request: HttpRequest) -> HttpResponse:
    """Why the panel is paused, and what it would write to."""
    context = {
        "installation": Installation.objects.first(),
        "poolers": Pooler.objects.order_by("name"),
        "clusters": Cluster.objects.order_by("name"),
    }
    return render(request, "panel/installation.html", context)


@staff_only
@require_http_methods(["POST"])
def resume_page(request: HttpRequest) -> HttpResponse:
    """Resume, by the button of the page."""
    if request.POST.get("checked") != "on":
        messages.error(request, "Nothing was resumed: say first that you checked where this panel would write.")
        return redirect("installation")
    resume(request.user)
    messages.success(request, "The panel goes on: every server is looked at now, and then what waits is applied.")
    return redirect("pooler-list")


class InstallationSerializer(serializers.ModelSerializer[Installation]):
    """An installation."""

    class Meta:
        model = Installation
        fields = ["home", "paused_at", "paused_because"]


class InstallationView(APIView):
    """The home that this panel's metadata database belongs to."""

    @extend_schema(responses=InstallationSerializer, operation_id="installation_retrieve")
    def get(self, request: Request) -> Response:
        """Whether the panel is paused (`paused_at`), because it was found to be a copy or restored from a backup."""
        return Response(_as_json())


class ResumeView(APIView):
    """Lets a paused panel go on."""

    write_scope = "admin"

    @extend_schema(request=None, responses=InstallationSerializer, operation_id="installation_resume")
    def post(self, request: Request) -> Response:
        """Let the panel apply, check and run again; what is not paused stays as it is."""
        resume(request.user)
        return Response(_as_json())


def _as_json() -> dict[str, object]:
    found = Installation.objects.first() or Installation(home="", paused_because="")
    return dict(InstallationSerializer(found).data)


urlpatterns: list[URLPattern] = [
    path("installation/", installation, name="installation"),
    path("installation/resume/", resume_page, name="installation-resume"),
    path("api/v1/installation/", InstallationView.as_view(), name="api-installation"),
    path("api/v1/installation/resume/", ResumeView.as_view(), name="api-installation-resume"),
]

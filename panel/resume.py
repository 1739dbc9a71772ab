"""The page and the API call that resume a paused panel, after a person has checked where it would write."""

import logging

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe
from drf_spectacular.utils import extend_schema
from kombu.exceptions import OperationalError
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.accounts.access import Access, needs
from core.installation import pausing
from core.installation.models import Installation
from pools import tasks
from pools.models import Cluster, Pooler

logger = logging.getLogger(__name__)


def resume(user: object) -> None:
    """Resume the tasks, and queue a check of every server and of drift. `user` goes to the log."""
    pausing.resume()
    logger.warning("resumed by %s", user)
    try:
        tasks.check_everything.delay()
        tasks.check_drift.delay()
    except OperationalError as error:
        logger.warning("servers are checked when the queue is back: %s", error)


@needs("installation.view")
@require_safe
def installation(request: HttpRequest) -> HttpResponse:
    """Show why the panel is paused, and what it would write to."""
    access = Access.of(request)
    context = {
        "installation": Installation.objects.first(),
        "poolers": access.visible(Pooler.objects.order_by("name")),
        "clusters": access.visible(Cluster.objects.order_by("name")),
    }
    return render(request, "panel/installation.html", context)


@needs("installation.change", destroys=gettext_lazy("Resume the panel"))
@require_http_methods(["POST"])
def resume_page(request: HttpRequest) -> HttpResponse:
    """Resume the panel by the button of the page; the box must be checked."""
    if request.POST.get("checked") != "on":
        messages.error(request, _("Not resumed: first confirm that you checked where this panel would write."))
        return redirect("installation")
    resume(request.user)
    messages.success(request, _("The panel is resumed: it checks every server now, then applies pending changes."))
    return redirect("pooler-list")


class InstallationSerializer(serializers.ModelSerializer[Installation]):
    """The installation as JSON."""

    class Meta:
        model = Installation
        fields = ["home", "paused_at", "paused_because"]

    example: dict[str, object] = {"home": "/var/lib/pooldeck", "paused_at": None, "paused_because": ""}


class InstallationView(APIView):
    """The home that this panel's metadata database belongs to."""

    operations = {"get": "installation.view"}

    @extend_schema(responses=InstallationSerializer, operation_id="installation_retrieve")
    def get(self, request: Request) -> Response:
        """Return whether the panel is paused (`paused_at`), because it is a copy or was restored from a backup."""
        return Response(_as_json())


class ResumeView(APIView):
    """Resumes a paused panel."""

    destructive = frozenset({"post"})
    operations = {"post": "installation.change"}

    @extend_schema(request=None, responses=InstallationSerializer, operation_id="installation_resume")
    def post(self, request: Request) -> Response:
        """Resume the panel, so that it applies, checks and runs again; no-op where it is not paused."""
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

"""The dashboard: what do I have, is it well, what did I measure last."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path


def dashboard(request: HttpRequest) -> HttpResponse:
    """The page that people land on."""
    return render(request, "panel/dashboard.html")


urlpatterns = [path("", dashboard, name="dashboard")]

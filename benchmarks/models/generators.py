"""Generators: workers that can run engines, as they last described themselves."""

from typing import TypedDict

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from pools.models import Host

GENERATOR_CHARACTERS = 63


class RoundTrip(TypedDict, total=False):
    """Round trips of `SELECT 1` between a generator and a cluster, or the error that prevented them."""

    count: int
    min_ms: float
    avg_ms: float
    max_ms: float
    connect_ms: float
    error: str


class Generator(models.Model):
    """A worker, named by its POOLDECK_GENERATOR; or a host that any worker reaches by SSH, its `ssh_host`.

    `engines` is name → version of each program found there. `files` is engine → file of that host that a run may name →
    why it can't be used (empty: it can), None where it was not reported. `round_trips` are by cluster id.
    """

    name = models.CharField(max_length=63, primary_key=True)
    host = models.CharField(max_length=255, default="")
    cores = models.PositiveIntegerField(default=0)
    engines = models.JSONField(default=dict)
    files = models.JSONField(null=True, default=None)
    ssh_host = models.OneToOneField(
        Host, null=True, on_delete=models.PROTECT, related_name="generator", help_text=_("The host that runs the load")
    )
    round_trips: "models.JSONField[dict[str, RoundTrip], dict[str, RoundTrip]]" = models.JSONField(default=dict)
    started_at = models.DateTimeField(default=timezone.now)
    last_seen_at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


def generator_label(generators: list[str]) -> str:
    """Return the text stored as the generator of a distributed run: as many names as fit, which serves as its lock."""
    for count in range(len(generators), 1, -1):
        unnamed = len(generators) - count
        text = ", ".join(generators[:count]) + (f" and {unnamed} more" if unnamed else "")
        if len(text) <= GENERATOR_CHARACTERS:
            return text
    return f"{generators[0][:45]} and {len(generators) - 1} more"

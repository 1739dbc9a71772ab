"""Links that show a run, a comparison or an experiment to whoever has them, without a login."""

import uuid
from typing import TypedDict

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext

from benchmarks.models.experiments import Experiment
from benchmarks.models.runs import Run


class ComparedRuns(TypedDict):
    """The runs of a comparison in their order, and the key of its baseline; empty: the arm of the first run."""

    runs: list[str]  # ids
    numbers: list[int]
    baseline: str


class SharedLink(models.Model):
    """A read-only link to the figures of a run, a comparison or an experiment; its token is stored as a digest only.

    That of a comparison belongs to the first of its runs, with which it goes.
    """

    belongs_to = ("run", "experiment")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    run = models.ForeignKey(Run, null=True, on_delete=models.CASCADE, related_name="links")
    experiment = models.ForeignKey(Experiment, null=True, on_delete=models.CASCADE, related_name="links")
    comparison = models.JSONField(null=True, editable=False)  # ComparedRuns; null for that of a run or an experiment
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    opened = models.PositiveIntegerField(default=0, editable=False)
    last_opened_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(
                condition=Q(run__isnull=True, experiment__isnull=False) | Q(run__isnull=False, experiment__isnull=True),
                name="a_link_shows_a_run_or_an_experiment",
            )
        ]

    def __str__(self) -> str:
        return gettext("link to %(shown)s") % {"shown": self.compared or self.shown}

    @property
    def compared(self) -> str:
        """The runs of its comparison in words; empty where it is of none."""
        if self.comparison is None:
            return ""
        return gettext("comparison of runs %(numbers)s") % {"numbers": ", ".join(map(str, self.comparison["numbers"]))}

    @property
    def shown(self) -> "Run | Experiment":
        """What it shows; of a comparison, the first of its runs."""
        found = self.run or self.experiment
        if found is None:
            raise TypeError(f"link {self.pk} shows nothing")
        return found

    @property
    def works(self) -> bool:
        return self.revoked_at is None and self.expires_at > timezone.now()

    def note_opened(self) -> None:
        """Count that it was opened."""
        SharedLink.objects.filter(pk=self.pk).update(opened=F("opened") + 1, last_opened_at=timezone.now())

    def revoke(self) -> None:
        """End the link now; no-op where it is revoked already."""
        if self.revoked_at is None:
            self.revoked_at = timezone.now()
            self.save(update_fields=["revoked_at"])

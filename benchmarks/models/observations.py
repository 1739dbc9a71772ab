"""Looks: what pooler, server, host and generator did while a run was on, and how its latencies were spread."""

from django.db import models

from benchmarks.models.runs import Run
from benchmarks.models.samples import Event


class LookKind(models.TextChoices):
    """Whom a look was taken at."""

    POOLER = "pooler", "the pooler"
    SERVER = "server", "the server"
    HOST = "host", "the server's host"
    GENERATOR = "generator", "the generator"


class Look(Event):
    """One look, on the clock of the load; `figures` are named by `benchmarks.runs.observers`, each with its unit."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="looks")
    kind = models.CharField(max_length=10, choices=LookKind.choices)
    figures = models.JSONField(default=dict)

    class Meta:
        ordering = ["attempt", "seq"]
        constraints = [models.UniqueConstraint(fields=["run", "attempt", "seq"], name="one_look_of_a_seq")]


class LatencyHistogram(models.Model):
    """The latencies of a run in microseconds as an HDR histogram (its base64 form), which merges without loss."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="latency_histogram", primary_key=True)
    encoded = models.TextField()
    count = models.PositiveBigIntegerField()
    sampling_rate = models.FloatField(default=1.0)  # of the transactions that were logged

    @property
    def stands_for(self) -> float:
        """The transactions of which some were logged."""
        return self.count / self.sampling_rate

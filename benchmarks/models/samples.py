"""Samples and observations of a run: progress intervals, and figures of pooler, server, host and generator."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from benchmarks.models.runs import Run


class Event(models.Model):
    """An event of a run; (attempt, seq) is also its id in the live stream, as `ATTEMPT-SEQ`."""

    attempt = models.PositiveIntegerField(default=1)
    seq = models.PositiveIntegerField()
    t = models.FloatField()  # seconds since the load began

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.attempt}-{self.seq}"


class Sample(Event):
    """One progress line of the program."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="samples")
    tps = models.FloatField(null=True)
    latency_ms = models.FloatField(null=True)
    stddev_ms = models.FloatField(null=True)
    failed = models.PositiveBigIntegerField(default=0)
    lag_ms = models.FloatField(null=True)
    skipped = models.PositiveBigIntegerField(null=True)
    retried = models.PositiveBigIntegerField(null=True)
    retries = models.PositiveBigIntegerField(null=True)
    latency_p50_ms = models.FloatField(null=True)
    latency_p95_ms = models.FloatField(null=True)
    latency_p99_ms = models.FloatField(null=True)

    class Meta:
        ordering = ["attempt", "seq"]
        constraints = [models.UniqueConstraint(fields=["run", "attempt", "seq"], name="one_sample_of_a_seq")]
        # Most intervals have no failed transaction: the sum of a long run reads those that have.
        indexes = [models.Index(fields=["run"], condition=models.Q(failed__gt=0), name="samples_with_failures")]

    def __str__(self) -> str:
        return f"sample {super().__str__()} of run {self.run_id}"


class PoolSample(Event):
    """The pool's figures in the pooler's console at one moment of the load; null is what its kind does not count."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="pool_samples")
    cl_active = models.PositiveIntegerField()
    cl_waiting = models.PositiveIntegerField(null=True)
    sv_active = models.PositiveIntegerField()
    sv_idle = models.PositiveIntegerField()
    maxwait_ms = models.FloatField(null=True)

    class Meta:
        ordering = ["attempt", "seq"]
        constraints = [models.UniqueConstraint(fields=["run", "attempt", "seq"], name="one_pool_sample_of_a_seq")]

    def __str__(self) -> str:
        return f"pool sample {super().__str__()} of run {self.run_id}"


class ObservationKind(models.TextChoices):
    """The part of the system that an observation is about."""

    POOLER = "pooler", _("the pooler")
    SERVER = "server", _("the server")
    HOST = "host", _("the server's host")
    GENERATOR = "generator", _("the generator")


class Observation(Event):
    """One observation at one moment of the load; `figures` are named by `benchmarks.runs.observers`, units included."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="observations")
    kind = models.CharField(max_length=10, choices=ObservationKind.choices)
    figures = models.JSONField(default=dict)

    class Meta:
        ordering = ["attempt", "seq"]
        constraints = [models.UniqueConstraint(fields=["run", "attempt", "seq"], name="one_look_of_a_seq")]

    def __str__(self) -> str:
        return f"observation {super().__str__()} of run {self.run_id}"


class LatencyHistogram(models.Model):
    """Latencies of a run in microseconds as an HDR histogram (its base64 form), which merges without loss."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="latency_histogram", primary_key=True)
    encoded = models.TextField()
    count = models.PositiveBigIntegerField()
    sampling_rate = models.FloatField(default=1.0)  # share of the transactions that the log has

    def __str__(self) -> str:
        return f"latencies of run {self.run_id}"

    @property
    def stands_for(self) -> float:
        """The number of transactions of which this share was logged."""
        return self.count / self.sampling_rate

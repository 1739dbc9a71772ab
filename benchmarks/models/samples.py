"""Samples: what the program said of each progress interval, and what the pool did meanwhile."""

from django.db import models

from benchmarks.models.runs import Run


class Event(models.Model):
    """Something that happened in a run; (attempt, seq) is its id in the live stream too, as `ATTEMPT-SEQ`."""

    attempt = models.PositiveIntegerField(default=1)
    seq = models.PositiveIntegerField()
    t = models.FloatField()  # seconds since the load began

    class Meta:
        abstract = True


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


class PoolSample(Event):
    """One look at the pool in the pooler's console, on the clock of the load; null is what its kind does not count."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="pool_samples")
    cl_active = models.PositiveIntegerField()
    cl_waiting = models.PositiveIntegerField(null=True)
    sv_active = models.PositiveIntegerField()
    sv_idle = models.PositiveIntegerField()
    maxwait_ms = models.FloatField(null=True)

    class Meta:
        ordering = ["attempt", "seq"]
        constraints = [models.UniqueConstraint(fields=["run", "attempt", "seq"], name="one_pool_sample_of_a_seq")]

"""Figures of pools and poolers by minute, the average and the maximum of each, and the restarts of poolers."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from pools.models.entries import Entry
from pools.models.poolers import Pooler
from pools.models.pools import Pool


class Minute(models.Model):
    """A minute, counted from 1970 in UTC so that SQL can aggregate it; `snapshots` is how often the console was polled.

    Times are in ms, their averages weighted by what ended; rates are None until there were two snapshots.
    """

    minute = models.PositiveIntegerField()
    snapshots = models.PositiveSmallIntegerField()
    cl_active_avg = models.FloatField()
    cl_active_max = models.FloatField()
    cl_waiting_avg = models.FloatField()
    cl_waiting_max = models.FloatField()
    sv_active_avg = models.FloatField()
    sv_active_max = models.FloatField()
    sv_idle_avg = models.FloatField()
    sv_idle_max = models.FloatField()
    sv_used_avg = models.FloatField()
    sv_used_max = models.FloatField()
    maxwait_ms_avg = models.FloatField()
    maxwait_ms_max = models.FloatField()
    queries_per_s_avg = models.FloatField(null=True)
    queries_per_s_max = models.FloatField(null=True)
    transactions_per_s_avg = models.FloatField(null=True)
    transactions_per_s_max = models.FloatField(null=True)
    received_bytes_per_s_avg = models.FloatField(null=True)
    received_bytes_per_s_max = models.FloatField(null=True)
    sent_bytes_per_s_avg = models.FloatField(null=True)
    sent_bytes_per_s_max = models.FloatField(null=True)
    query_ms_avg = models.FloatField(null=True)
    query_ms_max = models.FloatField(null=True)
    transaction_ms_avg = models.FloatField(null=True)
    transaction_ms_max = models.FloatField(null=True)
    wait_ms_avg = models.FloatField(null=True)
    wait_ms_max = models.FloatField(null=True)

    class Meta:
        abstract = True
        ordering = ["minute"]


class PoolMinute(Minute):
    """The averages and maxima of a pool's figures in one minute."""

    belongs_to = ("pool",)

    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="minutes")

    class Meta(Minute.Meta):
        constraints = [models.UniqueConstraint(fields=["pool", "minute"], name="one_row_of_a_pools_minute")]
        indexes = [models.Index(fields=["minute"], name="pool_minutes_by_age")]

    def __str__(self) -> str:
        return f"pool {self.pool_id} at {self.minute:%Y-%m-%d %H:%M}"


class EntryMinute(Minute):
    """The averages and maxima of an entry's figures in one minute, for an entry that no pool stands for."""

    belongs_to = ("entry",)

    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="minutes")

    class Meta(Minute.Meta):
        constraints = [models.UniqueConstraint(fields=["entry", "minute"], name="one_row_of_an_entrys_minute")]
        indexes = [models.Index(fields=["minute"], name="entry_minutes_by_age")]

    def __str__(self) -> str:
        return f"entry {self.entry_id} at {self.minute:%Y-%m-%d %H:%M}"


class PoolerMinute(Minute):
    """One minute of all pools of a pooler together: their sums, and the longest wait."""

    belongs_to = ("pooler",)

    pooler = models.ForeignKey(Pooler, on_delete=models.CASCADE, related_name="minutes")

    class Meta(Minute.Meta):
        constraints = [models.UniqueConstraint(fields=["pooler", "minute"], name="one_row_of_a_poolers_minute")]
        indexes = [models.Index(fields=["minute"], name="pooler_minutes_by_age")]

    def __str__(self) -> str:
        return f"pooler {self.pooler_id} at {self.minute:%Y-%m-%d %H:%M}"


class RestartEvidence(models.TextChoices):
    """How a restart was noticed."""

    PROCESS = "process", _("another process has its place")
    COUNTERS = "counters", _("its counters began anew")


class Restart(models.Model):
    """A restart of a pooler, or of one of the processes that share its port; `process` is the name of that.

    `at` is when the new process started, or where the panel can't see that, when the restart was noticed.
    """

    belongs_to = ("pooler",)

    pooler = models.ForeignKey(Pooler, on_delete=models.CASCADE, related_name="restarts")
    at = models.DateTimeField()
    process = models.CharField(max_length=255, default="")
    evidence = models.CharField(max_length=8, choices=RestartEvidence.choices)

    class Meta:
        ordering = ["-at"]
        constraints = [models.UniqueConstraint(fields=["pooler", "at", "process"], name="one_row_of_a_restart")]
        indexes = [models.Index(fields=["at"], name="restarts_by_age")]

    def __str__(self) -> str:
        return f"{self.process or self.pooler_id} at {self.at:%Y-%m-%d %H:%M:%S}"

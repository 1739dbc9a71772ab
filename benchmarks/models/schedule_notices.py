"""Notices of schedules: that a level changed for the worse, and the summary of a week."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from benchmarks.models.schedules import Schedule
from pools.models.notices import Delivery


class NoticeKind(models.TextChoices):
    """What a notice tells of."""

    WORSE = "worse", _("changed for the worse")
    WEEK = "week", _("the week")


class ScheduleNotice(Delivery):
    """A notice over one channel, as it was worded when it was found; a worker sends it.

    `since` is the due time of the first night after a change of `metric`, or the end of the week: a change and a week
    are told once.
    """

    belongs_to = ("schedule",)

    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="notices")
    kind = models.CharField(max_length=5, choices=NoticeKind.choices)
    metric = models.CharField(max_length=20, default="")
    since = models.DateTimeField()
    title = models.TextField()
    message = models.TextField()
    value = models.FloatField(null=True)  # the ratio of the levels
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["created_at", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["schedule", "kind", "metric", "since", "channel"], name="one_notice_of_a_change"
            )
        ]
        indexes = [models.Index(fields=["due_at"], condition=models.Q(sent_at=None), name="schedule_notices_to_send")]

    def __str__(self) -> str:
        return self.title

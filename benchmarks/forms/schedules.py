"""The form of a schedule: when what is chosen starts again."""

from datetime import datetime, time
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from benchmarks.models import Schedule
from benchmarks.models.schedules import USUAL_DEADLINE
from benchmarks.runs.submission.submit import MOST_REPEATS
from benchmarks.schedules import cron
from benchmarks.schedules.cron import Rhythm
from benchmarks.schedules.store import MOST_MINUTES, NAME_CHARACTERS, Terms
from core.lib.errors import DomainError
from pools.forms.base import time_zone_field

AT_NIGHT = time(2, 15)  # neither a full hour, when others' jobs begin, nor within the hour that clocks leave out
MESSAGES = ("notify_on_change", "weekly_summary")


class TimesForm(forms.Form):
    """When: daily or weekly at a time, or a cron line, in a time zone."""

    rhythm = forms.ChoiceField(
        label=_("Repeat"),
        choices=[(Rhythm.DAILY, _("Daily")), (Rhythm.WEEKLY, _("Weekly")), (Rhythm.CRON, _("By a cron line"))],
        initial=Rhythm.DAILY.value,
    )
    weekday = forms.TypedChoiceField(
        label=_("Day of the week"), choices=cron.WEEKDAYS, coerce=int, required=False, help_text=_("If weekly.")
    )
    at = forms.TimeField(
        label=_("Time"),
        required=False,
        initial=AT_NIGHT,
        widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M"),
        help_text=_("If daily or weekly."),
    )
    cron = forms.CharField(
        label=_("Cron line"),
        required=False,
        max_length=100,
        help_text=_("Minute, hour, day of the month, month, day of the week: 15 2 * * 1-5"),
    )
    time_zone = time_zone_field()

    def line(self) -> str:
        """Return the cron line that was chosen; empty where the field for it is."""
        chosen = self.cleaned_data
        if chosen["rhythm"] == Rhythm.CRON:
            return str(chosen["cron"])
        at = chosen["at"] or AT_NIGHT
        return cron.daily(at) if chosen["rhythm"] == Rhythm.DAILY else cron.weekly(chosen["weekday"] or 0, at)

    def upcoming(self, now: datetime, count: int) -> list[datetime]:
        """Return the next times of what is filled in; none while it is not valid."""
        if not self.is_valid():
            return []
        zone = self.cleaned_data["time_zone"]
        return cron.upcoming(cron.check(self.line(), zone, now), zone, now, count)


class ScheduleForm(TimesForm):
    """The form of a schedule of a run, with the number of runs and whether they are pairs, or of an experiment."""

    name = forms.CharField(label=_("Name"), max_length=NAME_CHARACTERS)
    pair = forms.BooleanField(
        label=_("As a pair: directly and through the pooler"),
        required=False,
        help_text=_("The ratio of both tells what the pooler is worth, whatever else the server does that night."),
    )
    repeat = forms.IntegerField(
        label=_("Repeats"),
        min_value=1,
        max_value=MOST_REPEATS,
        initial=1,
        help_text=_("Runs or pairs each time; their median is the figure of the night."),
    )
    starting_deadline_minutes = forms.IntegerField(
        label=_("Latest start"),
        min_value=1,
        max_value=MOST_MINUTES,
        initial=USUAL_DEADLINE,
        help_text=_("Minutes after its time until which it may begin; after them it is missed."),
    )
    notify_on_change = forms.BooleanField(
        label=_("Tell of a change for the worse"),
        required=False,
        initial=True,
        help_text=_("One message over each channel when a night shows that a level has fallen."),
    )
    weekly_summary = forms.BooleanField(
        label=_("In the weekly summary"),
        required=False,
        initial=True,
        help_text=_("On Monday morning: what ran and was missed, the levels, and what changed."),
    )
    field_order = ("name", *TimesForm.base_fields, "pair", "repeat", "starting_deadline_minutes", *MESSAGES)

    def __init__(self, *args: Any, of_run: bool, may_pair: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not of_run:
            del self.fields["repeat"], self.fields["notify_on_change"]
        if not may_pair:
            del self.fields["pair"]

    def terms(self) -> Terms:
        """Return what was filled in."""
        chosen = self.cleaned_data
        return Terms(
            name=chosen["name"],
            cron=self.line(),
            time_zone=chosen["time_zone"],
            pair=chosen.get("pair", False),
            repeat=chosen.get("repeat", 1),
            starting_deadline_minutes=chosen["starting_deadline_minutes"],
            notify_on_change=chosen.get("notify_on_change", True),
            weekly_summary=chosen["weekly_summary"],
        )

    def add_refusal(self, error: DomainError) -> None:
        """Show the reasons for which it was not saved, each beside its field."""
        for name, messages in error.errors.items():
            for message in messages:
                self.add_error(name if name in self.fields else None, message)


def initial_of(schedule: Schedule) -> dict[str, object]:
    """Return the values of the form for a saved schedule."""
    rhythm, at, weekday = cron.read(schedule.cron)
    names = ("name", "time_zone", "pair", "repeat", "starting_deadline_minutes", *MESSAGES)
    when = {"rhythm": rhythm.value, "at": at or AT_NIGHT, "weekday": weekday, "cron": schedule.cron}
    return {name: getattr(schedule, name) for name in names} | when

"""The stages of a run as rows of a table: those asked for, with what each has measured so far."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.engines import option_parsing, stage_lines
from benchmarks.models import Run, Status
from benchmarks.models.options import Stage
from benchmarks.models.summaries import StageSummary


@dataclass(frozen=True)
class StageRow:
    """One stage: what was asked for, its state for people, and its figures (empty before it has begun)."""

    number: int
    asked: Stage
    state: str
    label: str
    figures: StageSummary

    @property
    def in_words(self) -> str:
        """The stage as it is typed: `30s 10`."""
        return stage_lines.in_words(self.asked)

    @property
    def mark(self) -> str:
        """What stands in charts where it began."""
        clients, rate = self.asked["clients"], self.asked.get("rate")
        words = {"number": self.number, "clients": clients, "rate": rate and option_parsing.as_text(rate)}
        if rate:
            text = ngettext(
                "stage %(number)s: %(clients)s client, %(rate)s/s",
                "stage %(number)s: %(clients)s clients, %(rate)s/s",
                clients,
            )
        else:
            text = ngettext("stage %(number)s: %(clients)s client", "stage %(number)s: %(clients)s clients", clients)
        return text % words


def rows_of(run: Run) -> list[StageRow]:
    """Return a row for each stage of the run; none for a constant load."""
    return list(_rows(run))


def _rows(run: Run) -> Iterator[StageRow]:
    begun = run.summary.get("stages", [])
    for at, asked in enumerate(run.options.get("stages", [])):
        figures = begun[at] if at < len(begun) else StageSummary()
        state, label = _state(run, figures)
        yield StageRow(at + 1, asked, state, label, figures)


def _state(run: Run, figures: StageSummary) -> tuple[str, str]:
    """Return the state of a stage and its label; one that was going on when its run was lost has the run's."""
    if not figures:
        return ("cancelled", _("not started")) if run.is_final else ("queued", _("waiting"))
    state = Status(figures.get("status", run.status))
    return state.value, str(state.label)

"""Makes a finished run from pasted output of a load program."""

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from benchmarks.analysis import validity
from benchmarks.analysis.latency import store
from benchmarks.engines import ENGINES, engine
from benchmarks.engines.base import Output, Progress
from benchmarks.errors import BenchmarksError
from benchmarks.models import Purpose, Run, RunOutput, Sample, Status
from benchmarks.models.metrics import SAMPLE_KEYS
from benchmarks.models.summaries import with_figures
from benchmarks.results import pasted_text
from core.accounts.models import FIRST_TEAM, Team

NAME_CHARACTERS = 200


class NotImportable(BenchmarksError):
    """The text is not the output of one execution of a load program; the message says what to paste instead."""


def import_output(text: str, name: str = "", author: AbstractBaseUser | None = None, team: Team | None = None) -> Run:
    """Create a finished run with the samples, figures and versions in the text, and the text itself.

    It succeeded if the text has a complete summary or a finished dataset; else it failed with the first error in the
    text. It belongs to `team`, or to the first one. Raise `NotImportable` for a text that is too long, holds no output
    of a known load program, or holds several executions.
    """
    text, name = _storable(text), _storable(name).strip()[:NAME_CHARACTERS]
    engine_name, output = _read(text)
    verdict, reasons = validity.judge(output, options={}, purpose=_purpose_judged(output))
    fault = _fault(output, reasons)
    now = timezone.now()
    with transaction.atomic():
        run = Run.objects.enqueue(
            name=name,
            purpose=Purpose.IMPORT,
            engine=engine_name,
            target_label=_("imported output"),
            options=engine(engine_name).options_from_summary(output.summary),
            author=author,
            team_id=team.pk if team else FIRST_TEAM,
            status=Status.FAILED if fault else Status.SUCCEEDED,
            validity=verdict,
            reasons=reasons,
            error=fault,
            attempt=1,
            started_at=None,
            load_began_at=_began_at(output),
            finished_at=now,
            summary=output.summary,
            statements=output.statements,
            client_version=output.client_version,
            server_version=output.server_number,
        )
        run.summary = store.as_shown({**with_figures({}, store.keep_printed(run, output.latencies)), **run.summary})
        run.save(update_fields=["summary"])
        RunOutput.objects.create(run=run, stdout=text)
        Sample.objects.bulk_create(
            (_sample(run, seq, sample) for seq, sample in enumerate(output.samples, 1)), batch_size=500
        )
    return run


def import_file(
    file: "UploadedFile[Any]", name: str = "", author: AbstractBaseUser | None = None, team: Team | None = None
) -> Run:
    """Import an uploaded file, of which no more is read than may be imported; see `import_output`."""
    _refuse_long(file.size or 0)
    return import_output(file.read().decode(errors="replace"), name, author, team)


def _storable(text: str) -> str:
    """Replace what databases refuse: NUL and lone surrogates, which JSON can contain."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")


def _refuse_long(size: int) -> None:
    if size > settings.OUTPUT_CAP_BYTES:
        message = _(
            "the text has %(size)s bytes, more than the %(most)s allowed: "
            "leave out --debug lines, or raise POOLDECK_OUTPUT_CAP_BYTES"
        )
        raise NotImportable(message % {"size": f"{size:,}", "most": f"{settings.OUTPUT_CAP_BYTES:,}"})


def _read(text: str) -> tuple[str, Output]:
    """Return the engine that recognizes most lines of the text, and its parsed output."""
    _refuse_long(len(text.encode()))
    plain = pasted_text.without_prefix(text)
    readers = {name: one for name, one in ENGINES.items() if one.imports_output}
    outputs = {name: one.read_output(plain) for name, one in readers.items()}
    best = max(outputs, key=lambda name: outputs[name].recognized)
    output: Output = outputs[best]
    if not output.recognized and pasted_text.is_binary(text):
        raise NotImportable(_("this is binary data and no text: paste what the load program printed"))
    if not output.recognized:
        message = _(
            "this text holds no output of a load program (%(programs)s): paste what it printed, its summary (stdout) "
            "and its progress lines (stderr)"
        )
        raise NotImportable(message % {"programs": ", ".join(outputs)})
    if output.executions > 1:
        message = _("the text holds %(count)s executions of %(program)s: import each one separately")
        raise NotImportable(message % {"count": output.executions, "program": best})
    return best, output


def _purpose_judged(output: Output) -> str:
    return Purpose.PREPARE if output.is_preparation else Purpose.LOAD


def _fault(output: Output, reasons: list[str]) -> str:
    """Return the program's first error, else the first reason, if it did not succeed; empty if it did."""
    finished = output.prepared if output.is_preparation else output.has_summary
    if finished and not output.aborted:
        return ""
    return output.errors[0] if output.errors else reasons[0]


def _began_at(output: Output) -> datetime | None:
    return datetime.fromtimestamp(output.began_s, UTC) if output.began_s is not None else None


def _sample(run: Run, seq: int, sample: Progress) -> Sample:
    figures = {key: getattr(sample, key) for key in SAMPLE_KEYS} | {"failed": sample.failed or 0}
    return Sample(run=run, attempt=run.attempt, seq=seq, t=sample.t, **figures)

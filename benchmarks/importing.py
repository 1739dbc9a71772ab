"""Makes a finished run out of a pgbench output that somebody pasted."""

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from benchmarks import validity
from benchmarks.engines.contract import Progress
from benchmarks.engines.pgbench.output import Output, read_output
from benchmarks.errors import BenchmarksError
from benchmarks.models import Purpose, Run, RunOutput, Sample, Status

NAME_CHARACTERS = 200
_BUILTINS = {
    "<builtin: TPC-B (sort of)>": "tpcb-like",
    "<builtin: simple update>": "simple-update",
    "<builtin: select only>": "select-only",
}


class NotImportable(BenchmarksError):
    """The text is not one output of pgbench; the message says what to paste instead."""


def import_output(text: str, name: str = "", author: AbstractBaseUser | None = None) -> Run:
    """A finished run with the samples, figures and versions that the text holds, and the text itself.

    Its status is what the text says: succeeded with a whole summary or a finished dataset, else failed with the
    first error. Raises `NotImportable` for a text that is too long, holds nothing of pgbench or several executions.
    """
    text, name = _storable(text), _storable(name).strip()[:NAME_CHARACTERS]
    output = _read(text)
    verdict, reasons = validity.judge(output, options={}, purpose=_purpose_judged(output))
    fault = _fault(output, reasons)
    now = timezone.now()
    with transaction.atomic():
        run = Run.objects.enqueue(
            name=name,
            purpose=Purpose.IMPORT,
            target_label="imported output",
            options=_options(output.summary),
            author=author,
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
            server_version=_server_number(output),
        )
        RunOutput.objects.create(run=run, stdout=text)
        Sample.objects.bulk_create(
            (_sample(run, seq, sample) for seq, sample in enumerate(output.samples, 1)), batch_size=500
        )
    return run


def _storable(text: str) -> str:
    """What every database takes: no NUL, no half of a surrogate pair (JSON can carry both)."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")


def _read(text: str) -> Output:
    size = len(text.encode())
    if size > settings.OUTPUT_CAP_BYTES:
        raise NotImportable(
            f"the text has {size:,} bytes, more than the {settings.OUTPUT_CAP_BYTES:,} allowed: "
            "leave out --debug lines, or raise POOLDECK_OUTPUT_CAP_BYTES"
        )
    output = read_output(text)
    if not output.recognised:
        raise NotImportable(
            "nothing of pgbench is in this text: paste what it printed, its summary (stdout) and "
            "its progress lines (stderr)"
        )
    if output.executions > 1:
        raise NotImportable(f"the text holds {output.executions} executions of pgbench: import each by itself")
    return output


def _purpose_judged(output: Output) -> str:
    return Purpose.PREPARE if output.mode == "init" else Purpose.LOAD


def _fault(output: Output, reasons: list[str]) -> str:
    """Why it did not succeed, in the program's own words where it gave any; empty when it did."""
    finished = output.init_done is not None if output.mode == "init" else output.has_summary
    if finished and not output.aborted:
        return ""
    return output.errors[0] if output.errors else reasons[0]


def _began_at(output: Output) -> datetime | None:
    return datetime.fromtimestamp(output.zero_s, UTC) if output.has_epoch_times else None


def _options(summary: dict[str, Any]) -> dict[str, Any]:
    """What the summary tells of the command line, under the names of the options."""
    asked = {
        "builtin": _BUILTINS.get(summary.get("transaction_type", "")),
        "clients": summary.get("clients"),
        "threads": summary.get("threads"),
        "duration": summary.get("duration_s"),
        "transactions": summary.get("transactions_per_client"),
        "protocol": summary.get("query_mode"),
        "latency_limit": summary.get("latency_limit_ms"),
        "max_tries": summary.get("max_tries"),
        "random_seed": summary.get("random_seed"),
    }
    return {name: value for name, value in asked.items() if value is not None}


def _server_number(output: Output) -> str:
    """`15.18` of the server: pgbench 14 and later leave it out where it is their own (printVersion in pgbench.c).

    Empty where no version was printed at all, as before 14: nothing tells then what the server was.
    """
    return (output.server_version or output.client_version).partition(" ")[0]


def _sample(run: Run, seq: int, sample: Progress) -> Sample:
    return Sample(
        run=run,
        attempt=run.attempt,
        seq=seq,
        t=sample.t,
        tps=sample.tps,
        latency_ms=sample.latency_ms,
        stddev_ms=sample.stddev_ms,
        failed=sample.failed or 0,
        lag_ms=sample.lag_ms,
        skipped=sample.skipped,
        retried=sample.retried,
        retries=sample.retries,
    )

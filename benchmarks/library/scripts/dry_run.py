"""Dry runs: runs that try a script once, with a time limit, and the reason where one exceeds it."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.engines import engine
from benchmarks.models import Run
from benchmarks.targets import sessions
from pools.clusters import literals

ONCE = {"clients": 1, "threads": 1, "transactions": 1, "percentiles": False}
LIMIT_S = 300.0
SHOWN_CHARACTERS = 80
RUNNING = {  # The keys say whether the line is known and whether another session held a lock.
    (True, True): gettext_lazy(
        "the dry run of %(script)s did not end within %(limit)s s: line %(number)s (%(statement)s) had been running "
        "for %(seconds)s s, waiting for a lock of session %(session)s; end that session or wait for it, and try again"
    ),
    (True, False): gettext_lazy(
        "the dry run of %(script)s did not end within %(limit)s s: line %(number)s (%(statement)s) had been running "
        "for %(seconds)s s; let it do less, and try again"
    ),
    (False, True): gettext_lazy(
        "the dry run of %(script)s did not end within %(limit)s s: a statement (%(statement)s) had been running for "
        "%(seconds)s s, waiting for a lock of session %(session)s; end that session or wait for it, and try again"
    ),
    (False, False): gettext_lazy(
        "the dry run of %(script)s did not end within %(limit)s s: a statement (%(statement)s) had been running for "
        "%(seconds)s s; let it do less, and try again"
    ),
}


def is_dry_run(run: Run) -> bool:
    """Test whether the run executes one script of a user in one transaction of one client."""
    options = run.options
    alone = len(options.get("scripts") or []) == 1 and not options.get("builtin")
    return alone and all(options.get(name) == value for name, value in ONCE.items())


def why_late(run: Run) -> str:
    """Return the statement that a dry run was executing when its time was over, and the remedy."""
    script = engine(run.engine).script_labels(run.options)[0]
    late = {"script": script, "limit": f"{LIMIT_S:,.0f}"}
    found = sessions.at_work(run)
    if found is None:
        text = _(
            "the dry run of %(script)s did not end within %(limit)s s, and the server does not report what delayed it: "
            "check that it is reachable"
        )
    elif not found:
        text = _(
            "the dry run of %(script)s did not end within %(limit)s s, and no statement of it was running on the "
            "server: a \\sleep or the network delayed it: shorten the sleep, or try it directly on the cluster"
        )
    else:
        return _why_running(found[0], "".join(one["text"] for one in run.options.get("scripts") or []), late)
    return text % late


def _why_running(work: sessions.Work, text: str, late: dict[str, str]) -> str:
    number, line = _line_of(work.statement, text)
    excerpt = line if len(line) <= SHOWN_CHARACTERS else line[:SHOWN_CHARACTERS] + "…"
    words = {"number": number, "statement": excerpt, "seconds": f"{work.seconds:,.0f}", "session": work.blocked_by}
    return str(RUNNING[bool(number), bool(work.blocked_by)]) % (late | words)


def _line_of(statement: str, text: str) -> tuple[int | None, str]:
    """Return the number of the script's line on which a statement begins, and that line.

    Compares only what comes before a line's first variable, since the server sees values in place of variables. Where
    no line matches, returns None and the statement without its literals, which the run may have drawn of columns.
    """
    sent = statement.strip()
    begun = [
        (len(known), -number, line.strip())
        for number, line in enumerate(text.split("\n"), start=1)
        if (known := line.split(":")[0].split("\\")[0].strip().removesuffix(";")) and sent.startswith(known)
    ]
    if not begun:
        return None, " ".join(literals.without(sent).split())
    _length, number, line = max(begun)
    return -number, line

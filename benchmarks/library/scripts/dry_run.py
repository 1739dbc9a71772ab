"""Dry runs: which runs try a script once, how long one may take, and what held one up that took longer."""

from benchmarks.engines.pgbench import scripts
from benchmarks.models import Run
from benchmarks.targets import sessions

ONCE = {"clients": 1, "threads": 1, "transactions": 1, "percentiles": False}
LIMIT_S = 300.0
SHOWN_CHARACTERS = 80


def is_dry_run(run: Run) -> bool:
    """Whether it runs one script of a user in one transaction of one client."""
    given = run.options
    alone = len(given.get("scripts") or []) == 1 and not given.get("builtin")
    return alone and all(given.get(name) == value for name, value in ONCE.items())


def why_late(run: Run) -> str:
    """What a dry run was at when its time was over, as the server tells it, and the remedy."""
    script = scripts.weighed(run.options)[0]
    text, late = script.text or "", f"the dry run of {script.label} did not end within {LIMIT_S:,.0f} s"
    found = sessions.at_work(run)
    if found is None:
        return f"{late}, and the server does not tell what held it up: see whether it is reachable"
    if not found:
        return (
            f"{late}, and no statement of it was running on the server: a \\sleep held it up, or the way there: "
            "shorten the sleep, or try it directly on the cluster"
        )
    work = found[0]
    number, line = _line_of(work.statement, text)
    shown = line if len(line) <= SHOWN_CHARACTERS else line[:SHOWN_CHARACTERS] + "…"
    doing = f"line {number} ({shown})" if number else f"a statement ({shown})"
    waiting = f", waiting for what session {work.blocked_by} has locked" if work.blocked_by else ""
    remedy = "end that session or wait for it" if work.blocked_by else "let it do less"
    return f"{late}: {doing} had been running for {work.seconds:,.0f} s{waiting}; {remedy}, and try again"


def _line_of(statement: str, text: str) -> tuple[int | None, str]:
    """The number of the script's line on which a statement begins, and that line; without one, what the server says.

    Only what stands before a line's first variable is compared: the server sees values in their place.
    """
    sent = statement.strip()
    begun = [
        (len(known), -number, line.strip())
        for number, line in enumerate(text.split("\n"), start=1)
        if (known := line.split(":")[0].split("\\")[0].strip().removesuffix(";")) and sent.startswith(known)
    ]
    if not begun:
        return None, " ".join(sent.split())
    _, number, line = max(begun)
    return -number, line

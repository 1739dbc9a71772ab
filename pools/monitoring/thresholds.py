"""The bounds at which events open and close: sensible ones from the start, others where people set them."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db import transaction

from pools.errors import InvalidValues
from pools.models import EventKind, Severity, Threshold
from pools.monitoring.hysteresis import Rule

MOST_S = 86_400


@dataclass(frozen=True)
class Watch:
    """What is looked after: `measures` names the value, `unit` what it is counted in.

    `counts` is False where there is nothing to choose but whether to look, such as a pooler that is down or not.
    """

    kind: EventKind
    severity: Severity
    rule: Rule
    measures: str
    unit: str
    counts: bool = True


WATCHES = {
    watch.kind: watch
    for watch in (
        Watch(EventKind.WAITING, Severity.WARNING, Rule(5, 1, 30), "clients of a pool that wait", "clients"),
        Watch(EventKind.MAXWAIT, Severity.CRITICAL, Rule(5, 1, 10), "the longest wait in a pool's queue", "s"),
        Watch(
            EventKind.BUDGET,
            Severity.WARNING,
            Rule(90, 85, 0),
            "connections of a cluster's primary or standbys given to pools",
            "%",
        ),
        Watch(
            EventKind.POOLER_DOWN, Severity.CRITICAL, Rule(1, 1, 30), "a pooler's console does not answer", "", False
        ),
        Watch(EventKind.CLUSTER_DOWN, Severity.CRITICAL, Rule(1, 1, 60), "a cluster does not answer", "", False),
        Watch(
            EventKind.NOT_APPLIED,
            Severity.WARNING,
            Rule(1, 1, 60),
            "a pooler's pools that failed to apply, its settings counted as one",
            "pools",
        ),
        Watch(EventKind.DRIFT, Severity.WARNING, Rule(1, 1, 0), "a pooler differs from what was applied", "", False),
        Watch(EventKind.UNSEEN, Severity.WARNING, Rule(120, 120, 60), "how long nobody saw a pooler's files", "s"),
        Watch(EventKind.LAG, Severity.WARNING, Rule(60, 30, 60), "the age of what a standby replayed last", "s"),
        Watch(EventKind.RESTART, Severity.WARNING, Rule(1, 1, 0), "a pooler's settings wait for a restart", "", False),
    )
}


@dataclass(frozen=True)
class Bound:
    """A watch with the rule that holds for it now."""

    watch: Watch
    rule: Rule
    enabled: bool = True


def bounds() -> dict[EventKind, Bound]:
    """All watches with their rules, in one query."""
    changed = {row.kind: row for row in Threshold.objects.all()}
    return {kind: _bound(watch, changed.get(kind)) for kind, watch in WATCHES.items()}


def _bound(watch: Watch, row: Threshold | None) -> Bound:
    if row is None:
        return Bound(watch, watch.rule)
    return Bound(watch, Rule(row.opens_at, row.closes_at, row.for_s), row.enabled)


def change(rules: Mapping[EventKind, tuple[Rule, bool]]) -> None:
    """Set bounds, and whether they are looked after; one wrong value keeps all as they are (`InvalidValues`)."""
    InvalidValues.refuse((kind, problem) for kind, (rule, _) in rules.items() if (problem := problem_of(rule)))
    with transaction.atomic():
        for kind, (rule, enabled) in rules.items():
            values = {"opens_at": rule.opens_at, "closes_at": rule.closes_at, "for_s": int(rule.for_s)}
            Threshold.objects.update_or_create(kind=kind, defaults=values | {"enabled": enabled})


def problem_of(rule: Rule) -> str:
    """Why a rule can't hold; empty when it can."""
    if rule.opens_at <= 0:
        return f"opens at {rule.opens_at:g}: it would always be open; use more than 0"
    if not 0 < rule.closes_at <= rule.opens_at:
        return f"closes below {rule.closes_at:g}: use more than 0 and at most {rule.opens_at:g}, where it opens"
    if not 0 <= rule.for_s <= MOST_S:
        return f"for {rule.for_s:g} s: use 0 to {MOST_S} s"
    return ""

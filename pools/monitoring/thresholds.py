"""The thresholds at which events open and close: defaults, and those that people changed."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db import transaction
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from pools.errors import InvalidValues
from pools.models import EventKind, Severity, Threshold
from pools.monitoring.hysteresis import Rule

MOST_S = 86_400


@dataclass(frozen=True)
class Watch:
    """A kind of event with its value: `measures` names the value, `unit` its unit.

    `counts` is False where only watching can be switched on and off, such as for a pooler that is down or not.
    """

    kind: EventKind
    severity: Severity
    rule: Rule
    measures: str | Promise
    unit: str | Promise
    counts: bool = True


WATCHES = {
    watch.kind: watch
    for watch in (
        Watch(EventKind.WAITING, Severity.WARNING, Rule(5, 1, 30), _("clients of a pool that wait"), _("clients")),
        Watch(EventKind.MAXWAIT, Severity.CRITICAL, Rule(5, 1, 10), _("the longest wait in a pool's queue"), "s"),
        Watch(
            EventKind.BUDGET,
            Severity.WARNING,
            Rule(90, 85, 0),
            _("connections of a cluster's primary or standbys allocated to pools"),
            "%",
        ),
        Watch(
            EventKind.POOLER_DOWN, Severity.CRITICAL, Rule(1, 1, 30), _("a pooler's console does not answer"), "", False
        ),
        Watch(EventKind.CLUSTER_DOWN, Severity.CRITICAL, Rule(1, 1, 60), _("a cluster does not answer"), "", False),
        Watch(
            EventKind.CLIENT_LIMIT,
            Severity.CRITICAL,
            Rule(85, 75, 30),
            _("a pooler's clients, of the most that it lets in"),
            "%",
        ),
        Watch(
            EventKind.CORE,
            Severity.WARNING,
            Rule(90, 75, 60),
            _("the share of one core that a pooler's busiest process uses or waits for"),
            "%",
        ),
        Watch(
            EventKind.LOGINS,
            Severity.WARNING,
            Rule(5, 1, 120),
            _("logins that a pooler or its servers refused within a minute, by its log"),
            _("logins"),
        ),
        Watch(
            EventKind.NOT_APPLIED,
            Severity.WARNING,
            Rule(1, 1, 60),
            _("a pooler's pools that failed to apply, its settings counted as one"),
            _("pools"),
        ),
        Watch(EventKind.DRIFT, Severity.WARNING, Rule(1, 1, 0), _("a pooler differs from what was applied"), "", False),
        Watch(
            EventKind.UNSEEN,
            Severity.WARNING,
            Rule(120, 120, 60),
            _("time since a pooler's configuration files were checked"),
            "s",
        ),
        Watch(
            EventKind.LAG,
            Severity.WARNING,
            Rule(60, 30, 60),
            _("the age of the last transaction that a standby replayed"),
            "s",
        ),
        Watch(
            EventKind.READ_LAG,
            Severity.WARNING,
            Rule(60, 30, 60),
            _("the lag of the slowest standby that a read pool leads to"),
            "s",
        ),
        Watch(
            EventKind.FAILING,
            Severity.CRITICAL,
            Rule(1, 1, 15),
            _("clients can't use a pool that was applied"),
            "",
            False,
        ),
        Watch(
            EventKind.UNSENT,
            Severity.WARNING,
            Rule(60, 1, 0),
            _("time since entries of the audit trail could no longer be sent"),
            "s",
        ),
        Watch(
            EventKind.RESTART, Severity.WARNING, Rule(1, 1, 0), _("a pooler's settings wait for a restart"), "", False
        ),
        Watch(
            EventKind.CERTIFICATE,
            Severity.WARNING,
            Rule(30, 30, 0, falls=True),
            _("the time until the first certificate given for a pooler or a cluster expires"),
            _("days"),
        ),
        Watch(
            EventKind.VULNERABLE,
            Severity.WARNING,
            Rule(1, 1, 0),
            _("published vulnerabilities of a pooler's release"),
            _("vulnerabilities"),
        ),
    )
}


@dataclass(frozen=True)
class Bound:
    """A watch with the rule that holds for it now."""

    watch: Watch
    rule: Rule
    enabled: bool = True


def bounds() -> dict[EventKind, Bound]:
    """Return all watches with their current rules, in one query."""
    changed = {row.kind: row for row in Threshold.objects.all()}
    return {kind: _bound(watch, changed.get(kind)) for kind, watch in WATCHES.items()}


def _bound(watch: Watch, row: Threshold | None) -> Bound:
    if row is None:
        return Bound(watch, watch.rule)
    return Bound(watch, watch.rule.changed(row.opens_at, row.closes_at, row.for_s), row.enabled)


def change(rules: Mapping[EventKind, tuple[Rule, bool]]) -> None:
    """Set thresholds, and whether each kind is watched; one wrong value changes none (`InvalidValues`)."""
    InvalidValues.refuse((kind, problem) for kind, (rule, _) in rules.items() if (problem := problem_of(rule)))
    with transaction.atomic():
        for kind, (rule, enabled) in rules.items():
            values = {"opens_at": rule.opens_at, "closes_at": rule.closes_at, "for_s": int(rule.for_s)}
            Threshold.objects.update_or_create(kind=kind, defaults=values | {"enabled": enabled})


def problem_of(rule: Rule) -> str:
    """Return why a rule is invalid, or an empty text."""
    if rule.opens_at <= 0:
        text = gettext("an event that opens at %(opens_at)s would always be open: use more than 0")
        return text % {"opens_at": f"{rule.opens_at:g}"}
    if rule.falls and rule.closes_at < rule.opens_at:
        text = gettext("an event may not close above %(closes_at)s: use at least %(opens_at)s, where it opens")
        return text % {"closes_at": f"{rule.closes_at:g}", "opens_at": f"{rule.opens_at:g}"}
    if not rule.falls and not 0 < rule.closes_at <= rule.opens_at:
        text = gettext(
            "an event may not close below %(closes_at)s: use more than 0 and at most %(opens_at)s, where it opens"
        )
        return text % {"closes_at": f"{rule.closes_at:g}", "opens_at": f"{rule.opens_at:g}"}
    if not 0 <= rule.for_s <= MOST_S:
        return gettext("an event may not wait for %(for_s)s s: use 0 to %(most)s s") % {
            "for_s": f"{rule.for_s:g}",
            "most": MOST_S,
        }
    return ""

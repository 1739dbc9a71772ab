"""What an answer to "direct or pooled?" says beside its verdicts: connections saved, clients beyond the server's."""

from django.db.models import F, Max
from django.utils.translation import gettext as _

from benchmarks.experiments.advice.definition import CONNECTIONS, CROWD, KEPT
from benchmarks.experiments.results import ArmResult, Result
from benchmarks.models import PoolSample


def sentences(result: Result) -> list[str]:
    """Return sentences on the pool's gain, on more clients, and on what was not measured of both."""
    measured = [one for one in result.arms if one.arm and one.spec.endpoint.is_pooled]
    if not measured or CONNECTIONS not in result.spec.axes:  # asked for by an older release
        return []
    saved = [
        sentences for one in measured if one.spec.values[CONNECTIONS] != CROWD and (sentences := _saved(result, one))
    ]
    return [*saved[:1], *_beyond(result, measured), *_left_out(result)]


def _saved(result: Result, one: ArmResult) -> str:
    """Return by how many server connections the pool served the clients of an arm; empty without an observation."""
    used = most_servers(result, one)
    if used is None:
        return ""
    text = _(
        "The pool served %(clients)s clients with %(used)s server connections at most (SHOW POOLS); directly, each "
        "client takes one."
    )
    return text % {"clients": f"{one.spec.options['clients']:,}", "used": f"{used:,}"}


def most_servers(result: Result, one: ArmResult) -> int | None:
    """Return the most server connections that the pool of an arm had at once; None without an observation."""
    runs = [run.pk for run in result.runs if run.arm == one.spec.key]
    samples = PoolSample.objects.filter(run__in=runs, attempt=F("run__attempt"))
    most: int | None = samples.aggregate(most=Max(F("sv_active") + F("sv_idle")))["most"]
    return most


def _beyond(result: Result, measured: list[ArmResult]) -> list[str]:
    """Return a sentence on more clients than the server admits; empty where that number is unknown."""
    admitted = result.experiment.advice.get("admitted")
    if not admitted:
        return []
    names = {"admitted": f"{admitted:,}"}
    direct = _("Directly, the server lets in %(admitted)s clients and refuses more (max_connections).") % names
    crowd = next((one for one in measured if one.spec.values[CONNECTIONS] == CROWD), None)
    return [direct, _carried(result, crowd)] if crowd else [direct]


def _carried(result: Result, one: ArmResult) -> str:
    """Return a sentence on the pool's clients that the server alone would have refused in part."""
    tps, used = one.value("tps"), most_servers(result, one)
    names = {"clients": f"{one.spec.options['clients']:,}", "tps": f"{tps or 0:,.0f}", "used": f"{used or 0:,}"}
    if one.arm and one.arm.refusal:
        return _("More clients than that through the pool: %(words)s.") % {"words": one.arm.refusal.refusal_sentence}
    if not tps:
        return _("No run of %(clients)s clients through the pool is valid yet.") % names
    if used is None:
        return _("The pool carried %(clients)s clients at %(tps)s tps.") % names
    return _("The pool carried %(clients)s clients at %(tps)s tps with %(used)s server connections.") % names


def _left_out(result: Result) -> list[str]:
    """Return a sentence on the ways of connecting for which the minutes did not suffice."""
    connections = {value.key for value in result.spec.axes[CONNECTIONS]}
    if KEPT not in connections and result.experiment.advice.get("minutes") == 1:
        text = _(
            "One minute measures reconnecting clients only; two or more measure kept connections too, and five or more "
            "also more clients than the server lets in."
        )
        return [text]
    if CROWD not in connections:
        return [_("More clients than the server lets in were not measured.")]
    return []

"""Set-up steps and measurements around a load as sentences for people; pure."""

from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.models.conditions import Idle, Ping, ProfileInForce, RunConditions, Vacuum, WarmUp
from pools.clusters.memory_budget import GB, MB

LabeledText = tuple[str, str]  # label and sentence


def in_words(noted: RunConditions) -> list[LabeledText]:
    """Return a label and a sentence for each condition that a run noted, in their order; unknown ones are left out."""
    return list(_sentences(noted))


def _sentences(noted: RunConditions) -> Iterator[LabeledText]:
    if "ping" in noted:
        yield _("Round trip to the endpoint"), _ping(noted["ping"])
    if "settings_profile" in noted:
        yield _("Settings profile"), _profile(noted["settings_profile"])
    if "idle" in noted:
        yield _("Idle connections"), _idle(noted["idle"])
    if "vacuum" in noted:
        yield _("Vacuumed before"), _vacuum(noted["vacuum"])
    if "checkpoint" in noted:
        yield _("Checkpoint before"), _seconds(noted["checkpoint"]["seconds"])
    if "warm_up" in noted:
        yield _("Warm-up, thrown away"), _warm_up(noted["warm_up"])


def _ping(ping: Ping) -> str:
    text = _("%(mean)s ms on average (%(least)s to %(most)s, %(count)s times), logging in %(login)s ms")
    times = {"mean": ping["avg_ms"], "least": ping["min_ms"], "most": ping["max_ms"], "login": ping["connect_ms"]}
    return text % ({name: f"{ms:.3g}" for name, ms in times.items()} | {"count": ping["count"]})


def _profile(profile: ProfileInForce) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in profile["values"].items())
    return "; ".join([f"{profile['name']}: {values}", *profile.get("warnings", []), *profile.get("left", [])])


def _idle(idle: Idle) -> str:
    return "; ".join(_idle_parts(idle))


def _idle_parts(idle: Idle) -> Iterator[str]:
    text = ngettext("%(count)s opened in %(seconds)s s", "%(count)s opened in %(seconds)s s", idle["connections"])
    yield text % {"count": f"{idle['connections']:,}", "seconds": f"{idle['opened_in_s']:,.1f}"}
    if idle["memory"] == "measured":
        each = f"{idle['memory_bytes_each'] / MB:,.1f}"
        yield _("%(each)s MB each, %(all)s in all, measured") % {"each": each, "all": _size(idle["memory_bytes"])}
    elif idle["memory"] == "estimated":
        ends = {"least": _size(idle["memory_low_bytes"]), "most": _size(idle["memory_high_bytes"])}
        yield _("about %(least)s to %(most)s in all, estimated") % ends
    elif idle["memory"] == "pooled":
        yield _("they share the pool's server connections, so they take no memory of the server by themselves")
    if closed := idle.get("closed_by_others"):
        text = ngettext(
            "%(count)s was closed by the other side before the end",
            "%(count)s were closed by the other side before the end",
            closed,
        )
        yield text % {"count": f"{closed:,}"}


def _vacuum(vacuum: Vacuum) -> str:
    tables = len(vacuum["tables"])
    text = ngettext("%(count)s table in %(seconds)s s", "%(count)s tables in %(seconds)s s", tables)
    return text % {"count": tables, "seconds": f"{vacuum['seconds']:,.1f}"}


def _seconds(seconds: float) -> str:
    return f"{seconds:,.1f} s"


def _warm_up(warm_up: WarmUp) -> str:
    if why := warm_up.get("refused"):
        return _("ended after %(seconds)s s, since clients were refused: %(why)s") % {
            "seconds": f"{warm_up['seconds']:,.1f}",
            "why": why,
        }
    return _seconds(warm_up["seconds"])


def _size(size: float) -> str:
    return f"{size / GB:,.1f} GB" if size >= GB else f"{size / MB:,.0f} MB"

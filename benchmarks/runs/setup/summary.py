"""Set-up steps and measurements around a load as sentences for people; pure."""

from collections.abc import Callable, Iterator
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from pools.clusters.memory_budget import GB, MB

LabeledText = tuple[str, str]  # label and sentence


def in_words(noted: dict[str, Any]) -> list[LabeledText]:
    """Return a label and a sentence for each condition that a run noted, in their order; unknown ones are left out."""
    return [(str(label), describe(noted[name])) for name, label, describe in _DESCRIBED if name in noted]


def _ping(found: dict[str, Any]) -> str:
    text = _("%(mean)s ms on average (%(least)s to %(most)s, %(count)s times), logging in %(login)s ms")
    keys = {"mean": "avg_ms", "least": "min_ms", "most": "max_ms", "login": "connect_ms"}
    return text % ({name: f"{found[key]:.3g}" for name, key in keys.items()} | {"count": found["count"]})


def _profile(found: dict[str, Any]) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in found["values"].items())
    return "; ".join([f"{found['name']}: {values}", *found.get("warnings", []), *found.get("left", [])])


def _idle(found: dict[str, Any]) -> str:
    return "; ".join(_idle_parts(found))


def _idle_parts(found: dict[str, Any]) -> Iterator[str]:
    text = ngettext("%(count)s opened in %(seconds)s s", "%(count)s opened in %(seconds)s s", found["connections"])
    yield text % {"count": f"{found['connections']:,}", "seconds": f"{found['opened_in_s']:,.1f}"}
    if found["memory"] == "measured":
        each = f"{found['memory_bytes_each'] / MB:,.1f}"
        yield _("%(each)s MB each, %(all)s in all, measured") % {"each": each, "all": _size(found["memory_bytes"])}
    elif found["memory"] == "estimated":
        ends = {"least": _size(found["memory_low_bytes"]), "most": _size(found["memory_high_bytes"])}
        yield _("about %(least)s to %(most)s in all, estimated") % ends
    elif found["memory"] == "pooled":
        yield _("they share the pool's server connections, so they take no memory of the server by themselves")
    if closed := found.get("closed_by_others"):
        text = ngettext(
            "%(count)s was closed by the other side before the end",
            "%(count)s were closed by the other side before the end",
            closed,
        )
        yield text % {"count": f"{closed:,}"}


def _vacuum(found: dict[str, Any]) -> str:
    tables = len(found["tables"])
    text = ngettext("%(count)s table in %(seconds)s s", "%(count)s tables in %(seconds)s s", tables)
    return text % {"count": tables, "seconds": f"{found['seconds']:,.1f}"}


def _seconds(found: dict[str, Any]) -> str:
    return f"{found['seconds']:,.1f} s"


def _warm_up(found: dict[str, Any]) -> str:
    if why := found.get("refused"):
        return _("ended after %(seconds)s s, since clients were refused: %(why)s") % {
            "seconds": f"{found['seconds']:,.1f}",
            "why": why,
        }
    return _seconds(found)


def _size(size: float) -> str:
    return f"{size / GB:,.1f} GB" if size >= GB else f"{size / MB:,.0f} MB"


_DESCRIBED: tuple[tuple[str, str | Promise, Callable[[dict[str, Any]], str]], ...] = (
    ("ping", gettext_lazy("Round trip to the endpoint"), _ping),
    ("settings_profile", gettext_lazy("Settings profile"), _profile),
    ("idle", gettext_lazy("Idle connections"), _idle),
    ("vacuum", gettext_lazy("Vacuumed before"), _vacuum),
    ("checkpoint", gettext_lazy("Checkpoint before"), _seconds),
    ("warm_up", gettext_lazy("Warm-up, thrown away"), _warm_up),
)

"""Checks a run against the ceilings for its author and its cluster."""

from collections.abc import Iterator, Mapping

from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext as _

from benchmarks.errors import InvalidOptions
from benchmarks.models import Ceiling, Holder
from core.accounts.access import Access
from pools.models import Cluster

# The options that each bounds; a concurrency is the clients of an HTTP load, idle connections are clients too, and so
# are those of the products service's pool.
BOUNDED = {
    "clients": ("clients", "concurrency", "pool_size", "idle_connections"),
    "threads": ("threads",),
    "duration": ("duration", "warm_up"),
    "scale": ("scale",),
}
ENDLESS = ("transactions", "events")  # counted in place of a duration
UNITS = {"duration": " s"}


def check(author: User | None, cluster: Cluster | None, options: Mapping[str, object]) -> None:
    """Refuse what is above any ceiling; if several apply, the lowest wins. Queries no server.

    Raises `InvalidOptions` with the value, the ceiling and its holder. A run without an author (the installation's own)
    is subject to the ceilings for everyone.
    """
    lowest = {name: ceiling for name in BOUNDED if (ceiling := _lowest(name, list(_ceilings_for(author, cluster))))}
    errors: dict[str, list[str]] = {}
    for name, message in _above(lowest, options):
        errors.setdefault(name, []).append(message)
    if errors:
        raise InvalidOptions(errors)


def _ceilings_for(author: User | None, cluster: Cluster | None) -> models.QuerySet[Ceiling]:
    bound = author is not None and not Access(author).is_admin  # administrators set them
    holders = [Holder.EVERYONE, *([Holder.STAFF] if bound else [])]
    return Ceiling.objects.filter(Q(cluster=cluster) | Q(cluster=None), holder__in=holders).select_related("cluster")


def _lowest(name: str, ceilings: list[Ceiling]) -> Ceiling | None:
    bounding = [ceiling for ceiling in ceilings if getattr(ceiling, name) is not None]
    return min(bounding, key=lambda ceiling: getattr(ceiling, name), default=None)


def _above(lowest: dict[str, Ceiling], options: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name, ceiling in lowest.items():
        most, unit = getattr(ceiling, name), UNITS.get(name, "")
        words = {"most": f"{most:,}{unit}", "name": name, "holder": ceiling}
        for option in (*BOUNDED[name], *_client_count_options(name, options)):
            value = options.get(option)
            if isinstance(value, int | float) and value > most:
                text = _(
                    "%(value)s is above the run limit of %(most)s (%(name)s) for %(holder)s: "
                    "use at most %(most)s, or ask an admin to raise it"
                )
                yield option, text % (words | {"value": f"{value:,}{unit}"})
        counted = next((option for option in ENDLESS if options.get(option)), None)
        if name == "duration" and counted and not options.get("duration"):
            text = _(
                "counting %(counted)s sets no time limit, but there is a run limit of %(most)s (%(name)s) for "
                "%(holder)s: set a duration instead"
            )
            yield counted, text % (words | {"counted": counted})


def _client_count_options(name: str, options: Mapping[str, object]) -> tuple[str, ...]:
    """Return the option that counts clients in a program with one client for each thread (sysbench)."""
    return ("threads",) if name == "clients" and not {"clients", "concurrency"} & options.keys() else ()

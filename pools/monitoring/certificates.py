"""When certificates that the panel was given end: those in files of poolers, and the authorities of clusters."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from math import inf
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from core.lib.crypto import SealBroken
from pools.models import Cluster, PoolerFile
from pools.poolers import pem

MOST_KEPT = 4096
Ends = list[tuple[datetime, str]]


@dataclass(frozen=True)
class End:
    """The end of a certificate, its subject, and the setting that it was given for."""

    at: datetime
    subject: str
    setting: str

    @property
    def days_left(self) -> float:
        """The days until then; below 0 afterwards."""
        return (self.at - timezone.now()) / timedelta(days=1)

    @property
    def sentence(self) -> str:
        """When it ends or ended."""
        words = {"subject": self.subject, "setting": self.setting, "end": f"{self.at:%Y-%m-%d %H:%M} UTC"}
        if self.days_left > 0:
            text = _("the certificate of %(subject)s (%(setting)s) expires at %(end)s, in %(days)d days")
            return text % (words | {"days": self.days_left})
        return _("the certificate of %(subject)s (%(setting)s) expired at %(end)s") % words


def first_of_poolers() -> dict[UUID, End]:
    """Return the end that comes first of each pooler with a certificate: in one query, and one for each new file."""
    found: dict[UUID, End] = {}
    files = PoolerFile.objects.order_by("pk").values_list("pk", "pooler_id", "setting", "updated_at")
    for pk, pooler_id, setting, updated_at in files:
        ends = _read(pk, updated_at)
        if ends:
            at, subject = _choice(setting)(ends)
            found[pooler_id] = min(filter(None, (found.get(pooler_id), End(at, subject, setting))), key=_time)
    return found


def of_authority(cluster: Cluster) -> End | None:
    """Return the end of the authorities that a cluster's server is verified by; None without them."""
    ends = _parsed(cluster.sslrootcert) if cluster.sslrootcert else []
    return End(*max(ends), "sslrootcert") if ends else None


def days_left(end: End | None) -> float:
    """Return the days until an end; without one, which closes an event as well, it is never."""
    return end.days_left if end else inf


def _choice(setting: str) -> Callable[[Iterable[tuple[datetime, str]]], tuple[datetime, str]]:
    """Return what chooses among the certificates of a file: authorities serve until the last of them has ended."""
    return max if "ca" in setting.split("_") else min


def _time(end: End) -> datetime:
    return end.at


def _read(pk: int, updated_at: datetime) -> Ends:
    try:
        return _of_file(pk, updated_at)
    except (SealBroken, PoolerFile.DoesNotExist):
        return []


@lru_cache(MOST_KEPT)
def _of_file(pk: int, updated_at: datetime) -> Ends:
    """Read the certificates of a stored file, once for each content: `updated_at` tells a new one."""
    return _ends(PoolerFile.objects.get(pk=pk).content)


@lru_cache(MOST_KEPT)
def _parsed(text: str) -> Ends:
    return _ends(text)


def _ends(text: str) -> Ends:
    try:
        return pem.ends_of(text)
    except ValueError:
        return []

"""The keys that this metadata database was used with: one of them is removed only when no secret needs it any more."""

import logging
from collections.abc import Iterable

from django.conf import settings
from django.db import DatabaseError
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.installation import key_rotation
from core.installation.models import KnownKey
from core.lib.crypto import fingerprint

logger = logging.getLogger(__name__)
NAMED = 5


class KeyMissing(Exception):
    """A key that stored secrets need is not configured."""


def fault() -> str:
    """Return which secrets no configured key decrypts; empty where all can be read.

    Secrets are read only where a key is missing that the database was used with, or where it is not known which were.
    """
    known = set(KnownKey.objects.values_list("fingerprint", flat=True))
    missing = known - _configured()
    if known and not missing:
        return ""
    rows = key_rotation.unreadable()
    return _fault(rows, missing) if rows else ""


def _fault(rows: list[str], missing: Iterable[str]) -> str:
    """Return the sentence that names the rows, and the keys by their fingerprints."""
    text = ngettext(
        "no key of POOLDECK_KEYS decrypts %(count)d stored secret (%(rows)s); missing is %(keys)s",
        "no key of POOLDECK_KEYS decrypts %(count)d stored secrets (%(rows)s); missing is %(keys)s",
        len(rows),
    )
    shown = ", ".join(rows[:NAMED]) + (", …" if len(rows) > NAMED else "")
    keys = _("the key with the fingerprint %(names)s") % {"names": ", ".join(sorted(missing))}
    keys = keys if missing else _("the key that encrypted them")
    return text % {"count": len(rows), "rows": shown, "keys": keys}


REMEDY = (
    "append the key to POOLDECK_KEYS (or to the file keys, or to what POOLDECK_KEY_COMMAND prints) and run "
    "python manage.py rotate_keys before you remove it; only if it is lost, run python manage.py rotate_keys "
    "--forget-lost and enter these passwords again"
)


def check_at_start() -> None:
    """Record the configured keys; raises `KeyMissing` where one was removed that secrets still need.

    A database that does not answer or is not migrated yet is no reason to stay down: its own check says so.
    """
    try:
        if found := fault():
            raise KeyMissing(f"{found}: {REMEDY}")
        record()
    except DatabaseError as error:
        logger.warning("whether the keys open the stored secrets is unknown: %s", error)


def record() -> None:
    """Record the configured keys as those that this database is used with, and forget all others."""
    configured = _configured()
    if configured != set(KnownKey.objects.values_list("fingerprint", flat=True)):
        KnownKey.objects.exclude(fingerprint__in=configured).delete()
        rows = [KnownKey(fingerprint=one) for one in configured]
        KnownKey.objects.bulk_create(rows, ignore_conflicts=True)


def _configured() -> set[str]:
    return {fingerprint(key) for key in settings.POOLDECK_KEYS}

"""Describes how PgBouncer authenticates a pool's clients, and what that costs its single thread."""

from collections.abc import Mapping

from django.utils.translation import gettext as _

from pools.models import Pool
from pools.poolers.pgbouncer import releases, render, userlist
from pools.poolers.pgbouncer.render import USERLIST


def compose(pool: Pool, texts: Mapping[str, str], notes: Mapping[str, str]) -> str:
    """Return a sentence about the live files; empty for other methods of authentication, or without live files.

    `notes`: role → why the last apply left its password in clear. The figures are from tests/bench/login.py.
    """
    secret = render.users(texts.get(USERLIST, "")).get(pool.user, "")
    if not pool.user or not secret:
        return ""
    if userlist.is_verifier(secret):
        return _(
            "Clients are checked against the server's own SCRAM verifier: about 0.2 ms of PgBouncer's one thread for "
            "each login."
        )
    if releases.version_of(pool.pooler.server_version) >= userlist.KEEPS_KEYS:
        return _(
            "Its password is hashed once and the result kept: about 0.2 ms of PgBouncer's one thread for each login."
        )
    reason = notes.get(pool.user) or _("apply it again so that the server's verifier is tried")
    return _(
        "Its password is stored in clear text, and every login by SCRAM hashes it, about 4.5 ms of PgBouncer's one "
        "thread: %(reason)s."
    ) % {"reason": reason}


def remedy(version_text: str, *, is_managed: bool) -> str:
    """Return a sentence on hashing less at each login; empty from 1.25 on, which caches the result."""
    if releases.version_of(version_text) >= userlist.KEEPS_KEYS:
        return ""
    if not is_managed:
        return _("This PgBouncer hashes the password at every login: use 1.25 or later, which caches the result.")
    return _(
        "This PgBouncer hashes the password at every login: apply the pool again so that it gets the server's "
        "verifier, or use 1.25 or later, which caches the result. Its revision explains why a password stays in "
        "clear text."
    )

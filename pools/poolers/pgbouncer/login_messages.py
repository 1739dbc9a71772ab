"""How PgBouncer proves a pool's clients, and about what that costs its one thread, in words for people."""

from collections.abc import Mapping

from pools.models import Pool
from pools.poolers.pgbouncer import releases, render, verifiers
from pools.poolers.pgbouncer.render import USERLIST

CHEAP, DEAR = "about 0.2 ms of PgBouncer's one thread for each login", "about 4.5 ms of PgBouncer's one thread"


def compose(pool: Pool, texts: Mapping[str, str], notes: Mapping[str, str]) -> str:
    """A sentence, of the files that are live; empty where clients prove themselves otherwise, or nothing is live.

    `notes`: role → why the last apply left its password in clear. The figures are of tests/bench/login.py.
    """
    secret = render.users(texts.get(USERLIST, "")).get(pool.user, "")
    if not pool.user or not secret:
        return ""
    if verifiers.is_verifier(secret):
        return f"Clients are checked against the server's own SCRAM verifier: {CHEAP}."
    if releases.version_of(pool.pooler.server_version) >= verifiers.KEEPS_KEYS:
        return f"Its password is hashed once and the result kept: {CHEAP}."
    why = notes.get(pool.user) or "apply it once more to have the server's verifier tried"
    return f"Its password stands in clear, and every login by SCRAM hashes it, {DEAR}: {why}."

"""Users of userlist.txt, with their passwords or SCRAM verifiers: one of each name, for all the pools of a PgBouncer.

Given a password in clear, a release before 1.25 hashes it (PBKDF2, 4,096 rounds) for every client that logs in, on its
single thread; with the server's own verifier it need not. Since 1.25 it keeps the result (its NEWS, #1338). The entry
in [databases] still has the password in clear: PgBouncer connects with it before any client has logged in.

Seen on 1.18, 1.24 and 1.26: after a client's login with a verifier, PgBouncer connects to the server with that client's
keys, which fit the salt of the verifier. That works while the server has the same verifier, over RELOAD, RECONNECT,
KILL and a restart; once the server has another, the pool is shut until userlist.txt has that one too. Back to clear
text, the pool opens if the server kept the salt, else only after the entry was absent for one reload (#1612, fixed in
1.26).
"""

import base64
import hashlib
import hmac
import logging
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from uuid import UUID

import psycopg
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from pools.clusters import connect
from pools.errors import ClusterUnreachable
from pools.models import Cluster, Pool, Pooler, RolePassword, identifiers
from pools.poolers.faults import Rejected
from pools.poolers.pgbouncer.database_entries import Entry, LoginCache
from pools.poolers.settings_schema import Version

logger = logging.getLogger(__name__)
Secrets = dict[str, str]
KEEPS_KEYS = (1, 25)
FORGETS_KEYS = (1, 26)  # those of a verifier, once an entry has another user or password
SCRAM = "SCRAM-SHA-256$"
SHAPE = re.compile(r"SCRAM-SHA-256\$(\d+):([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+):[A-Za-z0-9+/=]+")
CLIENTS_SCRAM = ("scram-sha-256", "md5", "hba")  # auth_type by which clients of a verifier log in by SCRAM
STORED = "SELECT rolname, rolpassword FROM pg_catalog.pg_authid WHERE rolname = ANY(%s)"
WITHIN_MS = 5_000
IN_CLEAR = gettext_lazy(
    "each login of %(role)s costs PgBouncer the hashing of its password, which stays in clear: %(why)s"
)


def clear_text_reasons(notes: Iterable[str]) -> dict[str, str]:
    """Return role → why its password stays in clear, of the notes of an apply that say so."""
    pattern = re.escape(str(IN_CLEAR)).replace(re.escape("%(role)s"), r"(\S+)").replace(re.escape("%(why)s"), "(.+)")
    return {found[1]: found[2] for note in notes if (found := re.match(pattern, note))}


def secrets_of(
    pooler: Pooler,
    staying: Iterable[Entry],
    asked: Iterable[tuple[Pool, Entry]],
    kept: Mapping[str, str],
    before: Mapping[str, str],
    found: LoginCache,
) -> Secrets:
    """Return user → password in clear of the operator's part (`kept`), the console's admin and the role of each entry.

    A pool that is `asked` for anew brings its role's password of now, any other the one that is live (`before`). Raises
    `Rejected` for a pool whose role has another password already.
    """
    secrets = {pooler.admin_user: pooler.admin_password, **kept}
    brought = {(entry.role, entry.password): entry for entry in staying if entry.role}
    live = ((entry, _live(role, secret, kept, before)) for (role, secret), entry in brought.items())
    now = ((entry, entry.password or found.password(pool, entry.role)) for pool, entry in asked if entry.role)
    for entry, secret in chain(live, now):
        role = entry.role
        if secrets.setdefault(role, secret) != secret:
            raise Rejected(
                _(
                    "pooler %(pooler)s already keeps another password for %(role)s, and PgBouncer has one for "
                    "each name: give pool %(name)s a user of its own, or %(role)s the same password everywhere"
                )
                % {"pooler": pooler, "role": role, "name": entry.name},
                UUID(entry.pool),
            )
    return secrets


def _live(role: str, of_entry: str, kept: Mapping[str, str], before: Mapping[str, str]) -> str:
    """Return a role's live password in clear: its entry's, where userlist.txt has a verifier."""
    listed = before.get(role, "")
    return of_entry if of_entry and (not listed or is_verifier(listed)) else listed or kept.get(role, "")


def still_listed(known: Iterable[str], clusters: Iterable[Cluster]) -> Secrets:
    """Return roles that PgBouncer has had in userlist.txt since its start (`known`), with their passwords.

    Taken out of the file, a user stays in its memory without a password, and auth_query is never asked for it
    (seen on 1.18): for as long as a pool of the inbound user leads to its cluster, it must stay in the file.
    """
    roles = RolePassword.objects.filter(cluster__in=set(clusters), role__in=list(known))
    return {one.role: one.password for one in roles if not identifiers.password_problem(one.password)}


def still_queried(known: Collection[str], had: Mapping[str, str]) -> Secrets:
    """Return users that PgBouncer has had in userlist.txt (`had`: with the secret there) and would not look up again.

    It keeps such a user in memory without a password, and never asks an auth_query for it (seen on 1.18 and 1.24; on
    1.26 if it was listed before its first login): whoever's look-up serves it, it must stay in the file. A password
    that the panel knows of now goes first.
    """
    found = {user: secret for user, secret in had.items() if user in known}
    now: dict[str, set[str]] = {}
    for one in RolePassword.objects.filter(role__in=list(found)):
        now.setdefault(one.role, set()).add(one.password)
    sure = {role: password for role, (password, *others) in now.items() if not others}
    return found | {role: one for role, one in sure.items() if not identifiers.password_problem(one)}


@dataclass(frozen=True)
class Verifiers:
    """Role → verifier for userlist.txt, and role → why its password stays there in clear."""

    of: Mapping[str, str] = field(default_factory=dict)
    in_clear: Mapping[str, str] = field(default_factory=dict)


def verifiers_are_of_use(version: Version, auth_type: str) -> bool:
    """Return whether a verifier saves this release any work."""
    return version < KEEPS_KEYS and auth_type in CLIENTS_SCRAM


def is_verifier(secret: str) -> bool:
    """Return whether a secret of userlist.txt is a verifier, not a password in clear."""
    return secret.startswith(SCRAM)


def fits(verifier: str, password: str) -> bool:
    """Return whether it was made from that password (RFC 5802, section 3); ASCII only, others need SASLprep."""
    found = SHAPE.fullmatch(verifier)
    if not found or not password.isascii():
        return False
    salt, stored = base64.b64decode(found[2]), base64.b64decode(found[3])
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, int(found[1]))
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    return hmac.compare_digest(hashlib.sha256(client_key).digest(), stored)


def find_verifiers(
    pools: Collection[Pool], homes: Mapping[str, set[tuple[UUID, bool]]], passwords: Mapping[str, str], live: Verifiers
) -> Verifiers:
    """Read the verifiers of the fixed users of `pools` from their servers; others keep the `live` ones.

    `homes` tells of each role on which clusters it is used and whether behind a Pgpool-II, `passwords` what it is to
    log in with.
    """
    found, in_clear = dict(live.of), {}
    by_cluster: dict[Cluster, set[str]] = {}
    for pool in pools:
        if pool.user and (why := _why_in_clear(homes.get(pool.user, set()))):
            in_clear[pool.user] = why
            found.pop(pool.user, None)
        elif pool.user:
            by_cluster.setdefault(pool.cluster, set()).add(pool.user)
    for cluster, roles in by_cluster.items():
        for role, (verifier, why) in _ask(cluster, sorted(roles)).items():
            if verifier and verifier != live.of.get(role) and not fits(verifier, passwords.get(role, "")):
                verifier, why = (
                    None,
                    _("the verifier on %(cluster)s does not match the password that the panel knows")
                    % {"cluster": cluster},
                )
            if verifier:
                found[role] = verifier
            else:
                found.pop(role, None)
                in_clear[role] = why
    return Verifiers(found, in_clear)


def _why_in_clear(homes: set[tuple[UUID, bool]]) -> str:
    """Return why a verifier would shut pools of such a role; empty where it does not."""
    if any(behind for _, behind in homes):
        return _("one of its pools routes through a Pgpool-II, which has its own salt")
    if len({cluster_id for cluster_id, _ in homes}) > 1:
        return _("its pools route to several clusters, which have different salts")
    return ""


def _ask(cluster: Cluster, roles: list[str]) -> dict[str, tuple[str | None, str]]:
    """Return role → its verifier, or None and the reason; nothing of roles that could not be queried."""
    try:
        with connect.connect(cluster) as connection:
            connection.execute(f"SET statement_timeout = {WITHIN_MS}")
            stored: dict[str, str | None] = dict(connection.execute(STORED, [roles]).fetchall())
    except psycopg.errors.InsufficientPrivilege:
        why = _("%(admin_user)s may not read pg_authid on %(cluster)s") % {
            "admin_user": cluster.admin_user,
            "cluster": cluster,
        }
        return dict.fromkeys(roles, (None, why))
    except (ClusterUnreachable, psycopg.Error) as error:
        logger.info("cluster %s was not asked for the verifiers of %s: %s", cluster.pk, ", ".join(roles), error)
        return {}
    return {role: _verifier_or_reason(secret, cluster) for role, secret in stored.items()}


def _verifier_or_reason(secret: str | None, cluster: Cluster) -> tuple[str | None, str]:
    if secret and SHAPE.fullmatch(secret):
        return secret, ""
    if secret:
        return None, _("%(cluster)s has an MD5 hash of it, not a SCRAM verifier") % {"cluster": cluster}
    return None, _("%(cluster)s has no password of it, and so no SCRAM verifier") % {"cluster": cluster}


def refuse_unlisted(unlisted: Collection[str], asking: Iterable[UUID], *, settings: bool) -> None:
    """Raise `Rejected` for limits of users who are looked up: known by its limits, one is never looked up."""
    if unlisted:
        text = _(
            "%(unlisted)s can't have limits beside a pool of the inbound user: a PgBouncer before 1.24 "
            "then never looks up the password; let the panel know it, or leave the limits out"
        )
        raise Rejected(text % {"unlisted": ", ".join(sorted(unlisted))}, *asking, settings=settings)

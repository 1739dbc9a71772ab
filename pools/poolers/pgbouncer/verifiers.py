"""SCRAM verifiers in userlist.txt: the server's own spares PgBouncer before 1.25 the hashing of each client's login.

Given a password in clear, such a release stretches it (PBKDF2, 4,096 rounds) for every client that logs in, on the one
thread that serves everybody; since 1.25 it keeps what it made (its NEWS, #1338). The entry in [databases] keeps the
password in clear all the same: connections are made with it before any client has logged in.

What was seen on 1.18, 1.24 and 1.26: after a client's login with a verifier, connections to the server are made with
that client's keys, which fit the salt of the verifier. As long as the server has the same verifier all is well, over
RELOAD, RECONNECT, KILL and a restart; where the server got another, the pool is shut until userlist.txt has that one
too. Back to clear text it opens as long as the server kept the salt, else only after the entry was gone for one
reload (#1612, mended in 1.26).
"""

import base64
import hashlib
import hmac
import logging
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from uuid import UUID

import psycopg

from pools.clusters import connect
from pools.errors import ClusterUnreachable
from pools.models import Cluster, Pool
from pools.poolers.settings_schema import Version

logger = logging.getLogger(__name__)
KEEPS_KEYS = (1, 25)
SCRAM = "SCRAM-SHA-256$"
SHAPE = re.compile(r"SCRAM-SHA-256\$(\d+):([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+):[A-Za-z0-9+/=]+")
CLIENTS_SCRAM = ("scram-sha-256", "md5", "hba")  # auth_type by which clients of a verifier log in by SCRAM
STORED = "SELECT rolname, rolpassword FROM pg_catalog.pg_authid WHERE rolname = ANY(%s)"
WITHIN_MS = 5_000


@dataclass(frozen=True)
class Verifiers:
    """Role → verifier for userlist.txt, and role → why its password stays there in clear."""

    of: Mapping[str, str] = field(default_factory=dict)
    in_clear: Mapping[str, str] = field(default_factory=dict)


def are_of_use(version: Version, auth_type: str) -> bool:
    """Whether a verifier spares this release anything."""
    return version < KEEPS_KEYS and auth_type in CLIENTS_SCRAM


def is_verifier(secret: str) -> bool:
    """Whether a secret of userlist.txt is one, and not a password in clear."""
    return secret.startswith(SCRAM)


def fits(verifier: str, password: str) -> bool:
    """Whether it was made of that password (RFC 5802, section 3). Of ASCII alone: others would have to be prepared."""
    found = SHAPE.fullmatch(verifier)
    if not found or not password.isascii():
        return False
    salt, stored = base64.b64decode(found[2]), base64.b64decode(found[3])
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, int(found[1]))
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    return hmac.compare_digest(hashlib.sha256(client_key).digest(), stored)


def find(
    pools: Collection[Pool], homes: Mapping[str, set[tuple[UUID, bool]]], passwords: Mapping[str, str], live: Verifiers
) -> Verifiers:
    """The verifiers of the fixed users of `pools`, asked of their servers; others keep what is `live`.

    `homes` tells of each role on which clusters it is used and whether behind a Pgpool-II, `passwords` what it is to
    log in with.
    """
    found, in_clear = dict(live.of), {}
    wanted: dict[Cluster, set[str]] = {}
    for pool in pools:
        if pool.user and (why := _why_in_clear(homes.get(pool.user, set()))):
            in_clear[pool.user] = why
            found.pop(pool.user, None)
        elif pool.user:
            wanted.setdefault(pool.cluster, set()).add(pool.user)
    for cluster, roles in wanted.items():
        for role, (verifier, why) in _ask(cluster, sorted(roles)).items():
            if verifier and verifier != live.of.get(role) and not fits(verifier, passwords.get(role, "")):
                verifier, why = None, f"what {cluster} keeps of it does not fit the password that the panel knows"
            if verifier:
                found[role] = verifier
            else:
                found.pop(role, None)
                in_clear[role] = why
    return Verifiers(found, in_clear)


def _why_in_clear(homes: set[tuple[UUID, bool]]) -> str:
    """Why a verifier would shut pools of such a role; empty where it does not."""
    if any(behind for _, behind in homes):
        return "one of its pools leads through a Pgpool-II, which has a salt of its own"
    if len({cluster for cluster, _ in homes}) > 1:
        return "its pools lead to several clusters, which have salts of their own"
    return ""


def _ask(cluster: Cluster, roles: list[str]) -> dict[str, tuple[str | None, str]]:
    """Role → its verifier, or None and why there is none; nothing of roles that could not be asked for."""
    try:
        with connect.connect(cluster) as connection:
            connection.execute(f"SET statement_timeout = {WITHIN_MS}")
            stored: dict[str, str | None] = dict(connection.execute(STORED, [roles]).fetchall())
    except psycopg.errors.InsufficientPrivilege:
        why = f"{cluster.admin_user} may not read pg_authid on {cluster}"
        return dict.fromkeys(roles, (None, why))
    except (ClusterUnreachable, psycopg.Error) as error:
        logger.info("cluster %s was not asked for the verifiers of %s: %s", cluster.pk, ", ".join(roles), error)
        return {}
    return {role: _judged(secret, cluster) for role, secret in stored.items()}


def _judged(secret: str | None, cluster: Cluster) -> tuple[str | None, str]:
    if secret and SHAPE.fullmatch(secret):
        return secret, ""
    return None, f"{cluster} keeps no SCRAM verifier of it ({'an MD5 hash' if secret else 'no password'})"

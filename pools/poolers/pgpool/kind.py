"""Pgpool-II through its SQL interface: whether it is there, and which release it is."""

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from uuid import UUID

import psycopg

from pools.errors import PoolerUnreachable
from pools.models import Mode, Pool, Pooler
from pools.poolers.catalogue import Setting, Version
from pools.poolers.kind import ConsoleSample, Problems, Rejected, Session
from pools.poolers.pgbouncer.console import reason_of

CONNECT_TIMEOUT_S = 5


class Pgpool:
    """The kind `pgpool`: it pools sessions and has no named pools (its manual, "connection pooling")."""

    files: tuple[str, ...] = ()
    usual_mode = Mode.SESSION
    catalogue: tuple[Setting, ...] = ()
    words: tuple[str, ...] = ()

    def version_of(self, text: str) -> Version:
        """(4, 3) of `Pgpool-II 4.3.5`."""
        found = re.search(r"(\d+)\.(\d+)", text)
        return (int(found[1]), int(found[2])) if found else (4, 3)

    def problems(self, wish: Pool) -> Problems:
        """It caches sessions' connections by database and user: no other modes, no names or settings of its own."""
        if wish.mode != Mode.SESSION:
            yield "mode", f"Pgpool-II keeps a server connection for a whole session: {wish.mode} mode needs a PgBouncer"
        if wish.name != wish.database:
            yield "name", f"Pgpool-II has no names of its own for databases: name the pool {wish.database!r}"
        if wish.settings:
            yield "settings", "Pgpool-II has no settings per pool: leave them out"

    def check(self, pooler: Pooler) -> str:
        """`Pgpool-II 4.3.5`, from SHOW POOL_VERSION; the login is a role of the PostgreSQL behind it."""
        try:
            with psycopg.connect(
                host=pooler.host,
                port=pooler.port,
                user=pooler.admin_user,
                password=pooler.admin_password,
                dbname="postgres",
                application_name="pooldeck",
                connect_timeout=CONNECT_TIMEOUT_S,
                autocommit=True,
                prepare_threshold=None,
            ) as connection:
                cursor = connection.execute("SHOW POOL_VERSION")
                rows = cursor.fetchall()
                while cursor.nextset():  # 4.3 answers with an empty result first (seen)
                    rows += cursor.fetchall()
        except psycopg.Error as error:
            raise PoolerUnreachable(f"pooler {pooler} can't be reached: {reason_of(error)}") from None
        return f"Pgpool-II {rows[0][0].split()[0]}" if rows else "Pgpool-II"

    def sample(self, pooler: Pooler) -> ConsoleSample:
        """Nothing: Pgpool-II has no named pools."""
        return ConsoleSample()

    def show(self, pooler: Pooler, word: str) -> list[dict[str, object]]:
        """None: its console speaks of nodes and processes."""
        return []

    def compare(self, pooler: Pooler, texts: Mapping[str, str]) -> dict[UUID, str]:
        """Nothing was applied, so nothing can differ."""
        return {}

    def open(self, pooler: Pooler) -> AbstractContextManager[Session]:
        """Refused until the panel can configure it."""
        raise Rejected(f"pooler {pooler} is a Pgpool-II, which has no named pools: make the pool on a PgBouncer")

    def masked(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Nothing is rendered, so nothing is shown."""
        return {}

    def ours(self, name: str, text: str) -> str:
        """Nothing is written."""
        return ""

"""PgBouncer as a kind of pooler."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from uuid import UUID

from pools.models import Mode, Pool, Pooler
from pools.poolers import settings_schema
from pools.poolers.admin_commands import Column
from pools.poolers.adoption import Adoption
from pools.poolers.advisory import Advisory
from pools.poolers.base import ConsoleSample, Driver, LiveTable, Problems
from pools.poolers.pgbouncer import (
    advisories,
    console,
    database_entries,
    global_settings,
    login_messages,
    manual_edits,
    preflight,
    releases,
    render,
    stats,
    user_limits,
    verify,
)
from pools.poolers.pgbouncer.admin_commands import VERBS, PgBouncerControls
from pools.poolers.pgbouncer.columns import COLUMNS
from pools.poolers.pgbouncer.session import PgBouncerSession
from pools.poolers.pgbouncer.settings_catalog import CATALOGUE
from pools.poolers.server_connections import HeldServers
from pools.poolers.settings_schema import Scope, Setting, Version

LIVE_COLUMNS = (
    "database",
    "user",
    "pool_mode",
    "cl_active",
    "cl_waiting",
    "sv_active",
    "sv_idle",
    "sv_used",
    "maxwait",
)


class PgBouncer(Driver):
    """The kind `pgbouncer`; see `pools.poolers.base.Driver`."""

    files: tuple[str, ...] = render.FILES
    main_file = render.MAIN
    usual_mode = Mode.TRANSACTION
    catalogue: tuple[Setting, ...] = CATALOGUE
    words: tuple[str, ...] = tuple(word for word in console.WORDS if word != "version")
    columns: Mapping[str, Column] = COLUMNS
    verbs: tuple[str, ...] = VERBS
    servers = HeldServers(
        "servers",
        "remote_pid",
        "user",
        "it closes what stays idle for its server_idle_timeout, and by RECONNECT each that no client uses any more",
    )
    service = one_core_program = "pgbouncer"
    has_auth_query = can_chain = exports_metrics = True
    restart_hint = (
        "Without a gap, run two processes on one port (so_reuseport, a peer_id each) and restart one after the other. "
        "The old online restart (-R) drops TLS clients and is gone since 1.26."
    )

    def version_of(self, text: str) -> Version:
        """(1, 18) of `PgBouncer 1.18.0`."""
        return releases.version_of(text)

    def problems(self, spec: Pool) -> Problems:
        """Settings that its release does not take, or that would break their line."""
        version = releases.version_of(spec.pooler.server_version)
        for _, message in settings_schema.problems(CATALOGUE, Scope.POOL, spec.settings, version):
            yield "settings", message

    def advisories(self, version_text: str) -> tuple[Advisory, ...]:
        """By its NEWS.md."""
        return advisories.of_release(version_text)

    def check(self, pooler: Pooler) -> str:
        """`PgBouncer 1.18.0`, from SHOW VERSION."""
        return str(console.show(pooler, "version")[0]["version"])

    def sample(self, pooler: Pooler) -> ConsoleSample:
        """SHOW POOLS, SHOW STATS and SHOW DATABASES."""
        return stats.take(pooler)

    def live_table(self, sample: ConsoleSample) -> LiveTable:
        """SHOW POOLS."""
        rows = [[row.get(column) for column in LIVE_COLUMNS] for row in sample.rows.get("pools", [])]
        return LiveTable("SHOW POOLS", LIVE_COLUMNS, 3, rows)

    def words_of(self, pooler: Pooler) -> tuple[str, ...]:
        """By the version that the last check found."""
        version = self.version_of(pooler.server_version)
        return tuple(word for word in self.words if console.WORDS[word] <= version)

    def show(self, pooler: Pooler, word: str) -> list[dict[str, object]]:
        """The rows of `SHOW word`."""
        return console.show(pooler, word)

    def compare(self, pooler: Pooler, texts: Mapping[str, str]) -> dict[UUID, str]:
        """SHOW DATABASES against the entries of pooldeck.ini."""
        with console.open(pooler) as connection:
            shown = console.table(connection, "databases")
        return verify.faults(shown, database_entries.read(texts.get(render.DATABASES, "")))

    def compare_program(self, pooler: Pooler, texts: Mapping[str, str]) -> list[str]:
        """SHOW CONFIG and SHOW USERS against pooldeck_settings.ini and the limits of users."""
        wanted, users = (
            global_settings.written(texts.get(global_settings.SETTINGS, "")),
            user_limits.read(texts.get(render.DATABASES, "")),
        )
        faults = []
        with console.open(pooler) as connection:
            if wanted:
                faults += global_settings.faults(
                    console.rows(connection, "config"), wanted, self.version_of(pooler.server_version)
                )
            if users:
                faults += user_limits.faults(console.rows(connection, "users"), users)
        return faults

    def client_auth_note(self, pool: Pool, texts: Mapping[str, str], notes: Mapping[str, str]) -> str:
        """By what userlist.txt has of its user."""
        return login_messages.compose(pool, texts, notes)

    def stored_secret(self, texts: Mapping[str, str], role: str) -> str:
        """The role's entry in userlist.txt."""
        return render.users(texts.get(render.USERLIST, "")).get(role, "")

    def start_error(self, pooler: Pooler, texts: Mapping[str, str]) -> str:
        """By a throwaway start on a copy of them."""
        return preflight.start_error(pooler, texts)

    def changes(self, pooler: Pooler, texts: Mapping[str, str]) -> list[str]:
        """The operator's part against what is live."""
        return list(preflight.reload_changes(pooler, texts))

    def detached(self, settled: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str]:
        """Includes that were taken out of pgbouncer.ini."""
        return manual_edits.detached(settled, found)

    def adoption(self, settled: Mapping[str, str], found: Mapping[str, str]) -> Adoption:
        """Entries, settings, limits and passwords read back."""
        return manual_edits.adoption(settled, found)

    @contextmanager
    def open(self, pooler: Pooler) -> Iterator[PgBouncerSession]:
        """A session over one console login."""
        with console.open(pooler) as connection:
            yield PgBouncerSession(pooler, connection)

    @contextmanager
    def controls(self, pooler: Pooler) -> Iterator[PgBouncerControls]:
        """PAUSE and its like over one console login."""
        with console.open(pooler) as connection:
            yield PgBouncerControls(pooler, connection)

    def masked(self, texts: Mapping[str, str]) -> dict[str, str]:
        """The files with dots for passwords."""
        return render.masked(texts)

    def ours(self, name: str, text: str) -> str:
        """The part that an apply replaces."""
        return render.ours(name, text)

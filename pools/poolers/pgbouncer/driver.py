"""PgBouncer as a kind of pooler."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from pools.config_files import deliveries, pooler_files
from pools.models import Mode, Pool, Pooler, ProcessRow
from pools.poolers import settings_schema
from pools.poolers.admin_commands import Column
from pools.poolers.adoption import Adoption
from pools.poolers.advisory import Advisory
from pools.poolers.base import Driver, Problems
from pools.poolers.console_sample import ConsoleSample, FoundEntry, LiveTable
from pools.poolers.pgbouncer import (
    access,
    access_rules,
    advisories,
    console,
    database_entries,
    fetched,
    global_settings,
    kept_consoles,
    layout,
    log_reading,
    login_messages,
    manual_edits,
    operators_config,
    pool_clients,
    pool_limits,
    preflight,
    process_files,
    process_plan,
    processes,
    queue_reading,
    releases,
    render,
    sharing,
    shown_entries,
    stats,
    userlist,
    verify,
)
from pools.poolers.pgbouncer.admin_commands import VERBS, PgBouncerControls
from pools.poolers.pgbouncer.columns import COLUMNS
from pools.poolers.pgbouncer.features import FEATURES
from pools.poolers.pgbouncer.process_controls import SharedControls
from pools.poolers.pgbouncer.session import PgBouncerSession
from pools.poolers.pgbouncer.settings_catalog import CATALOG
from pools.poolers.pool_queue import PoolClient, PoolQueue
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
    immediate_shutdown = "SIGQUIT"
    usual_mode = Mode.TRANSACTION
    catalog: tuple[Setting, ...] = CATALOG
    manual = "https://www.pgbouncer.org/config.html"  # the site has the manual of the newest release alone
    words: tuple[str, ...] = tuple(word for word in console.WORDS if word != "version")
    columns: Mapping[str, Column] = COLUMNS
    verbs: tuple[str, ...] = VERBS
    servers = HeldServers(
        "servers",
        "remote_pid",
        "user",
        gettext_lazy("it closes connections idle for its server_idle_timeout, and after RECONNECT all unused ones"),
    )
    service = program = one_core_program = "pgbouncer"
    process_plan = staticmethod(process_plan.planned)
    port_setting = "listen_port"
    fetched_names = fetched.NAMES
    is_fetchable = has_auth_query = can_chain = exports_metrics = admits_others = True
    takes_experiments = sizes_each_pool = can_be_taken_over = counts_entries = counts_from_its_start = True
    compared_views = "SHOW DATABASES, SHOW CONFIG, SHOW USERS"
    features = FEATURES
    clients_setting, managed_section = "max_client_conn", "pgbouncer"
    read_log = staticmethod(log_reading.read)
    login_log = log_reading.LOGINS

    @property
    def restart_hint(self) -> str:
        return _(
            "For a restart without downtime, run two processes on one port (so_reuseport, a peer_id each), let the "
            "file of each include pooldeck.ini, and restart one after the other. The old online restart (-R) drops TLS "
            "clients and was removed in 1.26."
        )

    @property
    def overwrite_note(self) -> str:
        return _("Everything above the panel's mark stays, and so do your own lines of pgbouncer.ini.")

    def files_of(self, pooler: Pooler) -> tuple[str, ...]:
        """Return the main files of further processes, too."""
        return (*self.files, *sharing.names_of(pooler))

    def processes_awaited(self, pooler: Pooler) -> str:
        return sharing.awaited(pooler)

    def has_unread_processes(self, pooler: Pooler) -> bool:
        return sharing.has_unread(pooler)

    def main_file_in(self, argv: Sequence[str]) -> str:
        """Return its one argument that is no option; `-u` alone has a value (its manual, SYNOPSIS)."""
        pairs = itertools.pairwise(argv)
        return next((word for before, word in pairs if word[:1] != "-" and before not in ("-u", "--user")), "")

    def version_of(self, text: str) -> Version:
        """Return (1, 18) for `PgBouncer 1.18.0`."""
        return releases.version_of(text)

    def problems(self, spec: Pool) -> Problems:
        """Yield settings that its release does not take, or that would break their line."""
        version = releases.version_of(spec.pooler.server_version)
        for _name, message in settings_schema.problems(CATALOG, Scope.POOL, spec.settings, version):
            yield "settings", message
        for message in pool_limits.problems(spec):
            yield "settings", message

    def limits_problems(self, pooler: Pooler, user: str, limits: Mapping[str, Any]) -> Problems:
        """Yield limits of a user that the smallest size of one of its pools is above."""
        return pool_limits.user_problems(pooler, user, limits)

    def most_clients(self, pooler: Pooler) -> int:
        """Return max_client_conn of SHOW CONFIG."""
        live = {row["key"]: row["value"] for row in self.show(pooler, "config")}
        return int(str(live.get(self.clients_setting) or 0))

    def advisories(self, version_text: str) -> tuple[Advisory, ...]:
        return advisories.of_release(version_text)

    def check(self, pooler: Pooler) -> str:
        """Return `PgBouncer 1.18.0`, from SHOW VERSION; the other questions of a check go over the same login."""
        with kept_consoles.keeping(pooler, processes.any_of(pooler)) as connection:
            return str(console.rows(connection, "version")[0]["version"])

    def entries(self, pooler: Pooler) -> list[FoundEntry]:
        """Read SHOW DATABASES, without the console's own."""
        return shown_entries.read(pooler)

    def claim_on(self, pooler: Pooler, name: str) -> str:
        """Look for the name in SHOW DATABASES, and in the files for what is no automatic database of `*`."""
        return shown_entries.claim_on(pooler, name)

    def commands_refused(self, pooler: Pooler) -> str:
        """Compare the login with admin_users of SHOW CONFIG."""
        return shown_entries.commands_refused(pooler)

    def refuse_layout(self, pooler: Pooler) -> None:
        """Compare the files that SHOW CONFIG names with those of its folder; of a shared port an apply does."""
        if not deliveries.of(pooler).writes:
            return
        with kept_consoles.lent(pooler) as connection:
            config = {str(row["key"]): str(row["value"] or "") for row in console.rows(connection, "config")}
        if config.get("so_reuseport") != "1":
            main = pooler_files.read(pooler, [render.MAIN])[render.MAIN]
            layout.folder_there(pooler, config, has_main=main is not None)

    def sample(self, pooler: Pooler) -> ConsoleSample:
        """Read SHOW POOLS, SHOW STATS and SHOW DATABASES."""
        return stats.sample(pooler)

    def queue(self, pooler: Pooler, name: str) -> PoolQueue:
        return queue_reading.read(pooler, name)

    def clients(self, pooler: Pooler) -> list[PoolClient]:
        return pool_clients.read(pooler)

    def live_table(self, sample: ConsoleSample) -> LiveTable:
        rows = [[row.get(column) for column in LIVE_COLUMNS] for row in sample.rows.get("pools", [])]
        return LiveTable("SHOW POOLS", LIVE_COLUMNS, 3, rows)

    def words_of(self, pooler: Pooler) -> tuple[str, ...]:
        version = self.version_of(pooler.server_version)
        return tuple(word for word in self.words if console.WORDS[word] <= version)

    def show(self, pooler: Pooler, word: str) -> list[dict[str, object]]:
        """Return the rows of each process, with its name in the column `process` where several share the port."""
        if not pooler.shares_its_port:
            return console.show(pooler, word)
        with processes.known(pooler) as (found, _missing):
            return [{"process": one.name, **row} for one in found for row in console.rows(one.console, word)]

    def compare(self, pooler: Pooler, texts: Mapping[str, str]) -> dict[UUID, str]:
        """Compare SHOW DATABASES of each process with the entries of pooldeck.ini."""
        entries = database_entries.read(texts.get(render.DATABASES, ""))
        faults: dict[UUID, str] = {}
        with processes.opened(pooler) as found:
            for one in found:
                for pool_id, fault in verify.faults(console.table(one.console, "databases"), entries).items():
                    faults.setdefault(pool_id, processes.fault_of(found, one, fault))
        return faults

    def compare_program(self, pooler: Pooler, texts: Mapping[str, str]) -> list[str]:
        """Compare SHOW CONFIG and SHOW USERS of each process with pooldeck_settings.ini and the limits of users."""
        expected = global_settings.written(texts.get(global_settings.SETTINGS, ""))
        databases, version = texts.get(render.DATABASES, ""), self.version_of(pooler.server_version)
        users, peers = global_settings.users_of(databases), render.peers_of(databases)
        faults: list[str] = []
        with processes.opened(pooler) as found:
            for one in found:
                its = sharing.of_process(pooler, one.name, expected)
                own = global_settings.faults(console.rows(one.console, "config"), its, version) if its else []
                own += sharing.peer_faults(console.rows(one.console, "peers"), databases) if peers else []
                own += global_settings.user_faults(console.rows(one.console, "users"), users) if users else []
                faults += [processes.fault_of(found, one, fault) for fault in own]
        return faults

    def probing_role(self, pool: Pool) -> str:
        """Return the fixed user, the one that a taken entry let in, or the role that looks up inbound users."""
        return pool.user or str(pool.taken_over.get("role") or "") or database_entries.lookup_role(pool)

    def probe(self, pool: Pool, role: str, password: str) -> None:
        verify.probe(pool.pooler, pool, role, password)

    def uses_auth_query(self, pool: Pool) -> bool:
        return bool(database_entries.query_of(pool))

    def client_auth_note(self, pool: Pool, texts: Mapping[str, str], notes: Sequence[str]) -> str:
        return login_messages.compose(pool, texts, userlist.clear_text_reasons(notes))

    def login_remedy(self, version_text: str, *, is_managed: bool) -> str:
        """Return a sentence on hashing less at each login; empty from 1.25 on, which caches the result."""
        return login_messages.remedy(version_text, is_managed=is_managed)

    def access_obstacle(self, texts: Mapping[str, str]) -> str:
        return access_rules.obstacle_in(texts.get(global_settings.ACCESS, ""))

    def first_texts(self, pooler: Pooler) -> dict[str, str]:
        return fetched.first_texts(pooler)

    def stored_verifier(self, texts: Mapping[str, str], role: str) -> str:
        """Return the secret of userlist.txt, unless it is a password in clear."""
        secret = render.users(texts.get(render.USERLIST, "")).get(role, "")
        return secret if userlist.is_verifier(secret) else ""

    def start_error(self, pooler: Pooler, texts: Mapping[str, str]) -> str:
        """Start a trial instance on a copy of them."""
        return preflight.start_error(pooler, texts)

    def files_elsewhere(self, pooler: Pooler, texts: Mapping[str, str]) -> dict[str, bool]:
        """Return the files that are included anywhere, too."""
        reading = operators_config.of_folder(pooler, texts.get(render.MAIN, ""), texts, pooler.config_dir)
        included = operators_config.included_here(pooler, reading)
        return super().files_elsewhere(pooler, texts) | dict.fromkeys(included, True)

    def changes(self, pooler: Pooler, texts: Mapping[str, str]) -> list[str]:
        """Compare the operator's part with the live settings."""
        reading = operators_config.of_folder(pooler, texts.get(render.MAIN, ""), texts, pooler.config_dir)
        place = access.Place(pooler, pooler.config_dir)
        waiting = access.changed_since(texts, reading.values("pgbouncer"), place)
        found = [*preflight.reload_changes(pooler, texts), waiting, sharing.copies_behind(texts)]
        return [change for change in found if change]

    def detached(self, settled: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str]:
        return manual_edits.detached(settled, found)

    def adoption(self, settled: Mapping[str, str], found: Mapping[str, str]) -> Adoption:
        return manual_edits.adoption(settled, found)

    @contextmanager
    def open(self, pooler: Pooler) -> Iterator[PgBouncerSession]:
        """Open a session over one console login of each process."""
        with processes.opened(pooler) as found:
            process_files.require_all(pooler, found)
            yield PgBouncerSession(pooler, found)

    def take_over_obstacle(self, pooler: Pooler) -> str:
        """Return nothing: its files can be taken over."""
        return ""

    def processes(self, pooler: Pooler, version_text: str) -> list[ProcessRow]:
        """Find those that share its port by so_reuseport, and main files of such ones that do not answer."""
        with processes.opened(pooler, kept_consoles.lent) as found:
            return process_files.rows(pooler, found)

    @contextmanager
    def controls(self, pooler: Pooler) -> Iterator[PgBouncerControls | SharedControls]:
        """Log in to the console of each process for PAUSE and the other verbs."""
        if not pooler.shares_its_port:
            with console.open(pooler) as connection:
                yield PgBouncerControls(pooler, connection)
            return
        with processes.opened(pooler) as found:
            process_files.require_all(pooler, found)
            yield SharedControls(pooler, found)

    def masked(self, texts: Mapping[str, str]) -> dict[str, str]:
        return render.masked(texts)

    def ours(self, name: str, text: str) -> str:
        return render.ours(name, text)


DRIVER = PgBouncer()

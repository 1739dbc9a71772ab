"""One apply to a PgBouncer, over a console of each process, open whatever the new files change about logins."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from django.utils.translation import gettext as _

from pools.config_files import deliveries, pooler_files
from pools.errors import PoolerUnreachable
from pools.models import Pool, Pooler, PoolSet, PoolState, RevisionState, WaitingSetting
from pools.poolers import local_process
from pools.poolers.direct_login import login_count, skipped_note
from pools.poolers.faults import Rejected
from pools.poolers.pgbouncer import (
    console,
    database_entries,
    direct_login,
    fetched,
    global_settings,
    layout,
    operators_config,
    preflight,
    presented_certificate,
    process_units,
    processes,
    releases,
    render,
    sharing,
    taken_entries,
    verify,
)
from pools.poolers.pgbouncer.config_builder import ConfigBuilder, stays
from pools.poolers.pgbouncer.direct_login import Direct
from pools.poolers.pgbouncer.global_settings import SETTINGS
from pools.poolers.pgbouncer.operators_config import Operators
from pools.poolers.pgbouncer.processes import Process
from pools.poolers.pgbouncer.reload_hazards import Hazards
from pools.poolers.pgbouncer.render import DATABASES, MAIN, USERLIST, text_of
from pools.poolers.pgbouncer.sharing import Sharing
from pools.poolers.session import Draft, Files, Progress

MOST_LOGINS = 200
MOST_CANARY_POOLS = 20
LOGINS_EACH = 8  # the average for each process that shares the port
PGPOOL_RELOADS_S = 1.0  # each child of a Pgpool-II between reads new passwords when it comes to it (seen on 4.3)


class PgBouncerSession:
    """See `pools.poolers.base.Session`."""

    def __init__(self, pooler: Pooler, found: Sequence[Process]) -> None:
        self.pooler, self.processes = pooler, processes.main_first(pooler, found)
        self.connection = self.processes[0].console
        self.version_text = str(console.rows(self.connection, "version")[0]["version"])
        self.version = releases.version_of(self.version_text)
        self.drafting: ConfigBuilder | None = None
        self.reader = database_entries.Reader()
        self.trust_disk = False
        self.names: set[str] = set()  # names of entries that the panel has or had in pooldeck.ini
        self.canary_pools: list[Pool] = []  # pools that are not changed and let their users through before
        self.written: Files = {}
        self.is_fetched = not deliveries.of(pooler).writes

    def draft(self, pools: PoolSet, settled: Mapping[str, str], trust_disk: bool) -> Draft:
        """Render the panel's files, and pgbouncer.ini where it does not include them yet."""
        further = processes.further_mains(self.pooler, self.processes)
        process_files = {*sharing.names_of(self.pooler), *sharing.panel_main_files(settled)}
        disk = pooler_files.read(self.pooler, dict.fromkeys((*render.FILES, *further, *sorted(process_files))))
        users = {str(row["name"]): row for one in self.processes for row in console.rows(one.console, "users")}
        config = {str(row["key"]): str(row["value"] or "") for row in console.rows(self.connection, "config")}
        if self.is_fetched:
            fetched.refuse_unlisted(config)
            disk, folder = dict(fetched.known(self.pooler, disk, config)), self.pooler.config_dir
        else:
            folder = layout.folder_there(self.pooler, config, has_main=disk[MAIN] is not None)
        drafting = ConfigBuilder(self.pooler, self.version, pools, disk, settled, folder, sorted(users), config)
        drafting.reader = self.reader
        drafting.further_mains = tuple(name for name in further if name not in sharing.panel_main_files(disk))
        drafting.sharing = self._sharing(drafting)
        self._remember_names(drafting, trust_disk)
        drafting.operators = replace(self._operators(drafting), shown_users=users)
        self.drafting, self.trust_disk = drafting, trust_disk
        processes.refuse_differing_processes(self.processes, drafting)
        return Draft(
            texts=drafting.texts,
            before=drafting.old(trust_disk=trust_disk),
            changed=drafting.changed,
            moved=drafting.moved,
            settings_changed=drafting.settings_changed,
            gone=drafting.gone,
        )

    def _sharing(self, drafting: ConfigBuilder) -> Sharing:
        """Return the processes that the draft is for; raises `Rejected` beside others than the panel's."""
        settled = drafting.settled
        is_refused = self.pooler.settings_state in (PoolState.ROLLED_BACK, PoolState.FAILED)
        count = sharing.settled_count(settled) if is_refused else self.pooler.desired_processes
        names = [one.name for one in self.processes]
        if count > 1:
            sharing.refuse_operators_main_files(self.pooler, names, drafting.disk)
        running = set(names) & set(sharing.panel_main_files(drafting.disk))
        stays = sharing.was_shared(settled) and drafting.config.get("so_reuseport") == "1"
        return Sharing(drafting.version, drafting.config, count, frozenset(sharing.numbers_in(running)), stays)

    def preflight(self, draft: Draft, progress: Progress) -> None:
        """Log in directly to the servers of changed pools, and start a trial instance on the files.

        Refuses what would end the pooler itself, too; `go_live` looks again, for whoever has logged in since.
        """
        drafted = self._drafted
        logins = Direct(drafted, progress)
        changed = [pool for pool, _ in drafted.asked]
        tried = logins.try_changed(changed, draft.moved)
        logins.try_encryption(draft.moved)
        texts = {MAIN: drafted.main, **draft.texts}
        program_path = None if self.is_fetched else preflight.find(self.pooler, self.version_text)
        if self.is_fetched:
            where = fetched.preflight_files(self.pooler, self.version_text, texts)
        elif program_path:
            included = drafted.operators.reading.files
            preflight.start(self.pooler, program_path, texts, drafted.folder, included)
            # the panel's own differ in their numbers alone
            for name in (*drafted.further_mains, *sharing.panel_main_files(draft.texts)[:1]):
                self._preflight_further(program_path, name, draft)
            where = local_process.trial_started(program_path)
        else:
            where = local_process.why_no_trial(self.pooler, "pgbouncer", self.version_text)
        self._hazards.refuse_lockout()
        entries = self.reader.read(draft.texts[DATABASES])
        leaving = self._hazards.to_remove_first(entries, {**drafted.disk, **draft.files})
        if self.is_fetched:
            fetched.refuse_two_step_reload(leaving | drafted.back_in_clear_text, self.version_text)
        if draft.settings_changed:
            self._log_in_to_canary_pools(logins, draft, progress)
        progress.step("preflight passed", f"{login_count(tried)}; {where}")
        for note in drafted.notes():
            progress.step("noted", note)
        if len(self.processes) > 1:
            named = ", ".join(one.name for one in self.processes)
            progress.step(
                "noted",
                _("each of the processes that share the port is reloaded and read back: %(named)s") % {"named": named},
            )

    def _preflight_further(self, program_path: str, name: str, draft: Draft) -> None:
        """Start a trial instance with the main file of another process that shares the port."""
        drafted = self._drafted
        main = draft.texts.get(name) or text_of(drafted.disk, name)
        reading = operators_config.of_folder(self.pooler, main, draft.texts, drafted.folder)
        try:
            texts = {**draft.texts, MAIN: main}
            preflight.start(self.pooler, program_path, texts, drafted.folder, reading.files)
        except Rejected as fault:
            text = _("the process of %(name)s: %(fault)s")
            raise Rejected(text % {"name": name, "fault": fault}, settings=fault.settings) from fault

    def go_live(self, contents: Files, progress: Progress) -> None:
        """Write, RELOAD; first without the entries that can't be changed in place."""
        old = pooler_files.read(self.pooler, render.FILES)
        contents = {**contents, **self._users_to_keep(contents)}
        databases = text_of(contents, DATABASES)
        entries = self.reader.read(databases)
        leaving = self._hazards.to_remove_first(entries, {**old, **contents}) | self._drafted.back_in_clear_text
        if leaving:
            staying = [entry for entry in entries if entry.name not in leaving]
            users, peers = global_settings.users_of(databases), render.peers_of(databases)
            first = render.databases(staying, users, peers=peers).encode()
            pooler_files.replace(self.pooler, {**contents, DATABASES: first})
            self._reload()
        progress.renew()
        pooler_files.replace(self.pooler, contents)
        self._reload()
        self.written = {**old, **contents}
        for note in self._hazards.kept_until_restart(entries, old):
            progress.step("noted", note)
        if _server_tls(self.written) != _server_tls(old):
            for one in self.processes:  # a connection keeps the encryption that it was made with
                console.command(one.console, "RECONNECT")

    def _users_to_keep(self, contents: Files) -> Files:
        """Return userlist.txt without users of removed or refused pools whom this PgBouncer has never read there."""
        if render.KEPT not in (text := text_of(contents, USERLIST)):
            return {}
        known = set().union(*(self._users_of(one) for one in self.processes))
        return {USERLIST: render.without_unknown(text, known).encode(errors="surrogateescape")}

    def read_back(self, contents: Files) -> None:
        """Require that SHOW matches the files and that the console admits its admin."""
        if self.is_fetched:
            self.written = contents
        entries = self.reader.read(text_of(contents, DATABASES))
        operators = self._drafted.operators
        gone = self.names - {entry.name for entry in entries} - operators.entries.keys()
        for one in self.processes:
            with processes.named(self.processes, one):
                table = console.table(one.console, "databases")
                verify.read_back(table, entries, () if operators.serves_any else gone)
                self._read_back_program(one, contents)
        try:
            console.open(self.pooler).close()
        except PoolerUnreachable as error:
            raise Rejected(
                _("after RELOAD the console refused its admin: %(error)s") % {"error": error}, settings=True
            ) from error

    def log_in(self, draft: Draft, progress: Progress) -> None:
        """Log in through each changed pool, and after new settings through the canary pools too."""
        changed = [pool for pool, _ in self._drafted.asked]
        for pool in changed[:MOST_LOGINS]:
            self._prove(pool, progress, moved=pool.key in draft.moved)
        if len(changed) > MOST_LOGINS:
            progress.step("read back only", skipped_note(len(changed) - MOST_LOGINS))
        if len(self.processes) > 1 and changed:
            self._log_in_to_each(changed[0])
        for pool in self.canary_pools:
            try:
                self._prove(pool, progress, moved=False)
            except Rejected as fault:
                raise Rejected(_("with the new settings: %(fault)s") % {"fault": fault}, settings=True) from fault

    def _log_in_to_each(self, pool: Pool) -> None:
        """Log in so often that each process takes a login: a new one comes to any of them."""
        with suppress(verify.Shut):
            for _number in range(LOGINS_EACH * len(self.processes)):
                self._through(pool, moved=False)

    def processes_read_back(self) -> list[int]:
        """Return the numbers of those that answer, where the panel keeps main files of further ones."""
        further = self._drafted.sharing.further
        numbers = (sharing.number_of(self.pooler, one.name) for one in self.processes)
        return sorted(number for number in numbers if further and number in (1, *further))

    def start_processes(self, progress: Progress) -> None:
        """Start what is missing by its units."""
        process_units.start(self.pooler, self._drafted.sharing, self.processes_read_back(), progress)

    def restarts_needed(self) -> list[WaitingSetting]:
        """List settings whose value in the files waits for a restart."""
        written = global_settings.written(text_of(self.written, SETTINGS))
        touched = {str(one["name"]) for one in self.pooler.needs_restart}
        touched |= global_settings.written(self._drafted.settled.get(SETTINGS, "")).keys()
        own = self._drafted.operators.reading.values("pgbouncer")
        return global_settings.restarts_needed(
            console.rows(self.connection, "config"), written, own, touched, self.version
        )

    @property
    def _drafted(self) -> ConfigBuilder:
        if self.drafting is None:
            raise RuntimeError("a session is asked for its draft first")
        return self.drafting

    @property
    def _hazards(self) -> Hazards:
        return Hazards(
            self._drafted, [one.console for one in self.processes], self.version_text, self.names, self.trust_disk
        )

    def _reload(self) -> None:
        for one in self.processes:
            console.reload(one.console)

    @staticmethod
    def _users_of(process: Process) -> set[str]:
        return {str(row["name"]) for row in console.rows(process.console, "users")}

    def _read_back_program(self, process: Process, contents: Files) -> None:
        connection, databases = process.console, text_of(contents, DATABASES)
        expected = sharing.of_process(self.pooler, process.name, global_settings.written(text_of(contents, SETTINGS)))
        users = global_settings.users_of(databases)
        faults = global_settings.faults(console.rows(connection, "config"), expected, self.version)
        if render.peers_of(databases):
            faults += sharing.peer_faults(console.rows(connection, "peers"), databases)
        if users:
            faults += global_settings.user_faults(console.rows(connection, "users"), users)
        if not faults and (pem := presented_certificate.given(contents, expected)):
            faults += presented_certificate.faults(self.pooler, pem)
        elif faults:
            faults += self._causes(expected)
        if faults:
            raise Rejected(_("after RELOAD: %(faults)s") % {"faults": "; ".join(faults)}, settings=True)

    def _causes(self, wanted: Mapping[str, str]) -> list[str]:
        """Return sentences about the operator's files that may keep settings from being live."""
        unread = self._drafted.operators.reading.unread
        text = _("%(file)s can't be read from here (%(why)s), and may set it again after the panel's settings are read")
        closed = [text % {"file": operators_config.shortened(file), "why": why} for file, why in unread.items()]
        return [*self._drafted.placement.set_again(wanted), *closed]

    def _log_in_to_canary_pools(self, logins: Direct, draft: Draft, progress: Progress) -> None:
        """Find one unchanged pool of each cluster that admits its user now, and so must with new settings."""
        live = [pool for pool in self._drafted.pool_set if pool.key not in draft.changed]
        one_each = {pool.cluster_id: pool for pool in live if pool.state == PoolState.APPLIED}
        self.canary_pools = []
        for pool in list(one_each.values())[:MOST_CANARY_POOLS]:
            progress.renew()
            if silence := logins.silence_of(pool):
                progress.step(
                    "noted",
                    _("pool %(pool)s can't show what the new settings do: %(silence)s")
                    % {"pool": pool, "silence": silence},
                )
                continue
            try:
                self._through(pool, moved=True)
            except (Rejected, verify.Shut) as fault:
                progress.step("noted", _("without the new settings too: %(fault)s") % {"fault": fault})
            else:
                self.canary_pools.append(pool)

    def _prove(self, pool: Pool, progress: Progress, *, moved: bool) -> None:
        """Log in through a pool; one that was shut at the console is only read back."""
        try:
            progress.step("logged in", self._through(pool, moved=moved))
            if stranger := self._refused_user(pool):
                progress.step("stranger refused", verify.refuse(self.pooler, pool, stranger))
        except verify.Shut as shut:
            progress.step("not logged in", str(shut))
        except Rejected:
            direct_login.refuse_unreachable_servers(pool, self._drafted.found)
            raise

    def _refused_user(self, pool: Pool) -> str:
        """Return a user that PgBouncer knows and the pool must refuse; empty where it admits all, or there is none."""
        admission = None if self._drafted.access.obstacle else self._drafted.admissions.get(pool.key)
        known = render.users(text_of(self.written, USERLIST)) if admission else ()
        return next(
            (user for user in (self.pooler.admin_user, *known) if admission and user not in admission.users), ""
        )

    def _through(self, pool: Pool, *, moved: bool) -> str:
        role, password = self._client_of(pool)
        try:
            return verify.log_in(self.pooler, pool, role, password, moved=moved)
        except Rejected:
            if not pool.through_id:
                raise
            time.sleep(PGPOOL_RELOADS_S)
            return verify.log_in(self.pooler, pool, role, password, moved=moved)

    def _client_of(self, pool: Pool) -> tuple[str, str]:
        """Return the role that logs in through a pool, and its password; raises `verify.Shut` where none is known."""
        if not pool.taken_over:
            role = direct_login.role_of(pool)
            return role, self._drafted.found.password(pool, role)
        role, password = taken_entries.client_of(pool)
        if not role:
            raise verify.Shut(verify.NOBODY % {"pool": pool.name})
        return role, password

    def _operators(self, drafting: ConfigBuilder) -> Operators:
        """Return the operator's part; its entries are listed only where a new pool could clash with one."""
        texts = {name: text_of(drafting.disk, name) for name in (DATABASES, SETTINGS)}
        reading = operators_config.of_folder(self.pooler, drafting.main, texts, drafting.folder)
        unknown_names = {pool.name for pool in drafting.pool_set.others if not stays(pool)} - self.names
        rows_by_name = (
            {str(row["name"]): row for row in console.rows(self.connection, "databases")} if unknown_names else {}
        )
        # an entry that was written into the panel's own file by hand is adopted as the pool of its name
        adopted = operators_config.names_in(texts[DATABASES]) if unknown_names else ()
        return Operators(
            reading, rows_by_name, frozenset({*self.names, *adopted}), str(drafting.config.get("auth_user") or "")
        )

    def _remember_names(self, drafting: ConfigBuilder, trust_disk: bool) -> None:
        """Remember the names that an apply may remove; raises `Rejected` for another panel's pools."""
        on_disk = self.reader.read(text_of(drafting.disk, DATABASES))
        unknown = {entry.pool: entry.name for entry in on_disk if entry.pool not in drafting.before}
        pool_keys = {pool.key for pool in self.pooler.pools.filter(pk__in=list(unknown)).only("pk")}
        strangers = sorted(name for key, name in unknown.items() if key not in pool_keys)
        if strangers and trust_disk:
            raise Rejected(
                _(
                    "%(config_dir)s/%(databases)s has pools that this panel doesn't know: %(strangers)s; move "
                    "it away if they are not needed, or register the pooler's own folder"
                )
                % {"config_dir": self.pooler.config_dir, "databases": DATABASES, "strangers": ", ".join(strangers)}
            )
        self.names |= {entry.name for entry in (*on_disk, *drafting.before.values())} | self._names_left()

    def _names_left(self) -> set[str]:
        """Return the names that PgBouncer may still serve of an apply whose console or host was lost."""
        last = self.pooler.revisions.first()
        if last is None or last.state != RevisionState.FAILED:
            return set()
        return {entry.name for entry in self.reader.read(last.files.get(DATABASES, ""))}


def _server_tls(contents: Files) -> dict[str, object]:
    """Return all that determines the encryption of connections to servers."""
    lines = global_settings.written(text_of(contents, SETTINGS))
    found: dict[str, object] = {name: value for name, value in lines.items() if name.startswith("server_tls_")}
    return found | {name: contents.get(name) for name in global_settings.GIVEN.values() if "server_tls_" in name}

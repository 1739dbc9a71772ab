"""One apply onto a PgBouncer, over one console login that stays valid whatever the new files do to logins."""

from collections.abc import Collection, Mapping
from pathlib import PurePosixPath
from uuid import UUID

from pools import files, postgres
from pools.errors import ClusterUnreachable, PoolerUnreachable
from pools.login_failures import Cause
from pools.models import Pool, Pooler, PoolState
from pools.poolers.kind import Draft, Files, Progress, Rejected
from pools.poolers.pgbouncer import console, entries, rehearsal, render, settings, users, verify
from pools.poolers.pgbouncer.entries import Entry, Passwords
from pools.poolers.pgbouncer.render import DATABASES, MAIN, USERLIST

MOST_LOGINS = 200
NOBODY_THERE = frozenset(
    {Cause.DNS, Cause.REFUSED, Cause.TIMEOUT, Cause.NO_ROUTE, Cause.NO_SOCKET}
)  # then no login to the cluster can work


class PgBouncerSession:
    """See `pools.poolers.kind.Session`."""

    def __init__(self, pooler: Pooler, connection: console.Console) -> None:
        self.pooler, self.connection = pooler, connection
        self.version_text = str(console.rows(connection, "version")[0]["version"])
        self.pools: dict[UUID, Pool] = {}
        self.passwords = Passwords()
        self.main = ""  # pgbouncer.ini as the operator has it
        self.own_names: set[str] = set()  # of entries in there
        self.names: set[str] = set()  # of entries that the panel has or had in pooldeck.ini

    def draft(self, pools: Collection[Pool], settled: Mapping[str, str], trust_disk: bool) -> Draft:
        """Render pooldeck.ini and userlist.txt, and pgbouncer.ini where it does not include the former yet."""
        disk = files.read(self.pooler.config_dir, list(render.FILES))
        before = {entry.pool: entry for entry in entries.read(settled.get(DATABASES, ""))}
        self.pools, self.passwords = {pool.pk: pool for pool in pools}, Passwords()
        self.main = _text(disk, MAIN)
        self.own_names = render.own_names(self.main)
        self._remember_names(before, entries.read(_text(disk, DATABASES)), trust_disk)
        wanted = self._entries(before)
        kept = self._kept_users(_text(disk, USERLIST))
        secrets = self._secrets(wanted, render.users(kept), settled)
        texts = {USERLIST: render.userlist(kept, secrets), DATABASES: render.databases(wanted)}
        included = render.with_include(self.main, self._folder_as_pgbouncer_sees_it(disk))
        if included != self.main:
            texts[MAIN] = included
        old: dict[str, bytes | None] = {name: disk[name] for name in texts}
        if not trust_disk or old[DATABASES] is None:
            old[DATABASES] = settled.get(DATABASES, render.databases([])).encode()
        changed = [entry for entry in wanted if not _stays(self.pools[entry.pool])]
        return Draft(
            texts=texts,
            before=old,
            changed=frozenset(entry.pool for entry in changed),
            moved=frozenset(entry.pool for entry in changed if _moved(entry, before, texts, settled)),
        )

    def rehearse(self, draft: Draft, progress: Progress) -> None:
        """Log in directly where pools lead anew, so that a wrong password or database never goes live."""
        moved = [self.pools[pk] for pk in self.pools if pk in draft.moved]
        logins = {_login(pool): pool for pool in moved}
        for pool in logins.values():
            progress.renew()
            try:
                self._log_in_directly(pool)
            except ClusterUnreachable as error:
                alike = _login if error.cause not in NOBODY_THERE else _cluster
                blamed = [one.pk for one in moved if alike(one) == alike(pool)]
                raise Rejected(f"pool {pool} was not tried: {error}", *blamed) from error
        program = rehearsal.find(self.version_text)
        if program:
            rehearsal.start(program, {MAIN: self.main, **draft.texts}, self.pooler.config_dir)
        tried = "a throwaway pooler started on the files" if program else f"no {self.version_text} here to try them on"
        progress.step("rehearsed", f"{len(logins)} direct logins to the pools' databases; {tried}")

    def go_live(self, contents: Files, progress: Progress) -> None:
        """Write, RELOAD; first without the entries that lose their fixed user, which one RELOAD can't take away."""
        wanted = entries.read(_text(contents, DATABASES))
        forced = {row["name"] for row in console.rows(self.connection, "databases") if row["force_user"]}
        staying = [entry for entry in wanted if entry.user or entry.name not in forced]
        if len(staying) < len(wanted):
            files.replace(self.pooler.config_dir, {**contents, DATABASES: render.databases(staying).encode()})
            console.reload(self.connection)
        progress.renew()
        files.replace(self.pooler.config_dir, contents)
        console.reload(self.connection)

    def read_back(self, contents: Files) -> None:
        """SHOW DATABASES must say what the file says, no longer what it does not, and the console let its admin in."""
        wanted = entries.read(_text(contents, DATABASES))
        gone = self.names - {entry.name for entry in wanted} - self.own_names
        verify.read_back(console.rows(self.connection, "databases"), wanted, () if "*" in self.own_names else gone)
        try:
            console.open(self.pooler).close()
        except PoolerUnreachable as error:
            raise Rejected(f"after RELOAD the console locked its admin out: {error}") from error

    def log_in(self, draft: Draft, progress: Progress) -> None:
        """Each changed pool must let its user through to the server."""
        changed = [self.pools[pk] for pk in self.pools if pk in draft.changed]
        for pool in changed[:MOST_LOGINS]:
            progress.renew()
            password = self.passwords.of(pool, pool.login)
            progress.step("logged in", verify.log_in(self.pooler, pool, password, moved=pool.pk in draft.moved))
        if len(changed) > MOST_LOGINS:
            progress.step("read back only", f"{len(changed) - MOST_LOGINS} more changed pools were not logged in to")

    def restarts_needed(self) -> list[dict[str, str]]:
        """None, as long as no program settings are rendered."""
        return []

    def _log_in_directly(self, pool: Pool) -> None:
        password = self.passwords.of(pool, pool.login)
        postgres.connect(pool.cluster, database=pool.database, user=pool.login, password=password).close()

    def _entries(self, before: Mapping[UUID, Entry]) -> list[Entry]:
        """Pending pools as they are asked for, all others as they are live; each name once."""
        version = settings.version_of(self.version_text)
        found = {before[pk].name: before[pk] for pk, pool in self.pools.items() if _stays(pool) and pk in before}
        for pool in self.pools.values():
            if _stays(pool):
                continue
            if pool.name in self.own_names:
                raise Rejected(f"pgbouncer.ini already has an entry {pool.name}: give the pool another name", pool.pk)
            if pool.name in found:
                raise Rejected(f"{pool.name} is still the live name of another pool: change that one first", pool.pk)
            found[pool.name] = entries.of_pool(pool, version, self.passwords)
        return list(found.values())

    def _kept_users(self, userlist: str) -> str:
        kept = render.kept_part(userlist)
        if line := render.broken_line(kept):
            raise Rejected(f"{self.pooler.config_dir}/{USERLIST} is broken at line {line}, which PgBouncer can't read")
        return kept

    def _secrets(self, wanted: list[Entry], kept: Mapping[str, str], settled: Mapping[str, str]) -> users.Secrets:
        """What the panel's part of userlist.txt has to hold."""
        of_entries = [(self.pools[entry.pool], entry) for entry in wanted]
        before = render.users(render.ours(USERLIST, settled.get(USERLIST, "")))
        inbound = {pool.cluster for pool, entry in of_entries if entry.auth_user}
        known = [str(row["name"]) for row in console.rows(self.connection, "users")] if inbound else []
        secrets = users.secrets_of(self.pooler, of_entries, kept, before, self.passwords)
        secrets = users.remembered(known, inbound) | secrets
        return {role: secret for role, secret in secrets.items() if role not in kept}

    def _folder_as_pgbouncer_sees_it(self, disk: Files) -> str:
        """Where the pooler itself finds config_dir (a container may see another path); raises `Rejected`."""
        config = {row["key"]: str(row["value"] or "") for row in console.rows(self.connection, "config")}
        path = PurePosixPath(config["auth_file"])
        if path.name != USERLIST or disk[MAIN] is None:
            raise Rejected(
                f"config_dir {self.pooler.config_dir} must hold {MAIN}, and its auth_file (now {path}) "
                f"must be {self.pooler.config_dir}/{USERLIST}: change it, RELOAD, then apply again"
            )
        return str(path.parent)

    def _remember_names(self, before: Mapping[UUID, Entry], on_disk: list[Entry], trust_disk: bool) -> None:
        """Keep the names that an apply may make disappear; pools of somebody else are none of them."""
        known = {*before, *self.pooler.pools.values_list("pk", flat=True)}
        strangers = sorted(entry.name for entry in on_disk if entry.pool not in known)
        if strangers and trust_disk:
            raise Rejected(
                f"{self.pooler.config_dir}/{DATABASES} holds pools that this panel doesn't know: "
                f"{', '.join(strangers)}; move it away if nobody needs them, or register the pooler's own folder"
            )
        self.names |= {entry.name for entry in (*on_disk, *before.values())}


def _login(pool: Pool) -> tuple[object, ...]:
    return pool.cluster_id, pool.database, pool.login


def _cluster(pool: Pool) -> tuple[object, ...]:
    return (pool.cluster_id,)


def _stays(pool: Pool) -> bool:
    """Whether what is live of it is to be kept: only a pending pool asks for something new."""
    return pool.state != PoolState.PENDING


def _moved(entry: Entry, before: Mapping[UUID, Entry], texts: Mapping[str, str], settled: Mapping[str, str]) -> bool:
    """Whether the entry leads elsewhere than the one that is live, or its role has another password."""
    if entry.pool not in before or entry.moved_from(before[entry.pool]):
        return True
    now, then = (render.users(files.get(USERLIST, "")).get(entry.role) for files in (texts, settled))
    return now != then


def _text(contents: Files, name: str) -> str:
    return (contents.get(name) or b"").decode(errors="surrogateescape")

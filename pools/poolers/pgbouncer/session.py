"""One apply onto a PgBouncer, over one console login that stays valid whatever the new files do to logins."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePosixPath

from pools import files, names, postgres
from pools.errors import ClusterUnreachable, PoolerUnreachable
from pools.models import Pool, Pooler, PoolState, RolePassword
from pools.poolers.kind import Draft, Files, PoolFigures, Progress, Rejected
from pools.poolers.pgbouncer import console, entries, rehearsal, render, settings, verify
from pools.poolers.pgbouncer.entries import Entry
from pools.poolers.pgbouncer.render import DATABASES, MAIN, USERLIST

MOST_LOGINS = 200


class PgBouncer:
    """The kind `pgbouncer`."""

    files: tuple[str, ...] = render.FILES

    def check(self, pooler: Pooler) -> str:
        """`PgBouncer 1.18.0`, from SHOW VERSION."""
        return str(console.show(pooler, "version")[0]["version"])

    def figures(self, pooler: Pooler) -> dict[str, PoolFigures]:
        """SHOW POOLS by pool name."""
        return console.figures(pooler)

    @contextmanager
    def open(self, pooler: Pooler) -> Iterator["PgBouncerSession"]:
        """A session over one console login."""
        with console.open(pooler) as connection:
            yield PgBouncerSession(pooler, connection)

    def masked(self, texts: Mapping[str, str]) -> dict[str, str]:
        """The files with dots for passwords."""
        return render.masked(texts)

    def ours(self, name: str, text: str) -> str:
        """The part that an apply replaces."""
        return render.ours(name, text)


class PgBouncerSession:
    """See `pools.poolers.kind.Session`."""

    def __init__(self, pooler: Pooler, connection: console.Console) -> None:
        self.pooler, self.connection = pooler, connection
        self.version_text = str(console.rows(connection, "version")[0]["version"])
        self.pools: dict[object, Pool] = {}
        self.main = ""
        self.names: set[str] = set()
        self.own_names: set[str] = set()

    def draft(self, pools: Collection[Pool], settled: Mapping[str, str], trust_disk: bool) -> Draft:
        """Render pooldeck.ini and userlist.txt, and pgbouncer.ini where it does not include the former yet."""
        self.pools = {pool.pk: pool for pool in pools}
        disk = files.read(self.pooler.config_dir, list(render.FILES))
        self.main, kept = _text(disk, MAIN), render.kept_part(_text(disk, USERLIST))
        if line := render.broken_line(kept):
            raise Rejected(f"{self.pooler.config_dir}/{USERLIST} is broken at line {line}, which PgBouncer can't read")
        self.own_names = render.own_names(self.main)
        self._remember_entries(entries.read(_text(disk, DATABASES)), settled, trust_disk)
        wanted = self._entries(settled)
        texts = {
            USERLIST: render.userlist(kept, self._secrets(wanted, render.users(kept), settled)),
            DATABASES: render.databases(wanted),
        }
        included = render.with_include(self.main, self._folder_as_pgbouncer_sees_it(disk))
        if included != self.main:
            texts[MAIN] = included
        changed = frozenset(pool.pk for pool in pools if pool.state == PoolState.PENDING)
        before = {name: disk[name] for name in texts}
        if not trust_disk or before[DATABASES] is None:
            before[DATABASES] = settled.get(DATABASES, render.databases([])).encode()
        return Draft(texts=texts, before=before, changed=changed)

    def rehearse(self, draft: Draft, progress: Progress) -> None:
        """Log in to each changed pool's server directly, so that a wrong password or database never goes live."""
        for pool in self._changed(draft):
            progress.renew()
            try:
                password = entries.password_of(pool, pool.login)
                postgres.connect(pool.cluster, database=pool.database, user=pool.login, password=password).close()
            except ClusterUnreachable as error:
                raise Rejected(f"pool {pool} was not tried: {error}", pool.pk) from error
        program = rehearsal.find(self.version_text)
        if program:
            rehearsal.start(program, {MAIN: self.main, **draft.texts}, self.pooler.config_dir)
        started = (
            "a throwaway pooler of this release started on the files"
            if program
            else (f"no {self.version_text} is installed here to try the files on")
        )
        progress.step("rehearsed", f"every changed pool's database let its user in directly; {started}")

    def go_live(self, contents: Files, progress: Progress) -> None:
        """Write, RELOAD; first without the entries that lose their fixed user, which one RELOAD can't take away."""
        wanted = entries.read((contents.get(DATABASES) or b"").decode())
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
        wanted = entries.read((contents.get(DATABASES) or b"").decode())
        gone = self.names - {entry.name for entry in wanted} - self.own_names
        verify.read_back(console.rows(self.connection, "databases"), wanted, () if "*" in self.own_names else gone)
        try:
            console.open(self.pooler).close()
        except PoolerUnreachable as error:
            raise Rejected(f"after RELOAD the console locked its admin out: {error}") from error

    def log_in(self, draft: Draft, progress: Progress) -> None:
        """Each changed pool must let its user through to the server."""
        changed = self._changed(draft)
        for pool in changed[:MOST_LOGINS]:
            progress.step(
                "logged in", verify.log_in(self.pooler, pool, pool.login, entries.password_of(pool, pool.login))
            )
        if len(changed) > MOST_LOGINS:
            progress.step("read back only", f"{len(changed) - MOST_LOGINS} more changed pools were not logged in to")

    def _entries(self, settled: Mapping[str, str]) -> list[Entry]:
        """Pending pools as they are asked for, all others as they are live."""
        version = settings.version_of(self.version_text)
        live = {entry.pool: entry for entry in entries.read(settled.get(DATABASES, ""))}
        found = []
        for pool in self.pools.values():
            if pool.state == PoolState.PENDING:
                if pool.name in self.own_names:
                    raise Rejected(
                        f"pgbouncer.ini already has an entry {pool.name}: give the pool another name", pool.pk
                    )
                found.append(entries.of_pool(pool, version))
            elif pool.pk in live:
                found.append(live[pool.pk])
        return found

    def _secrets(self, wanted: list[Entry], kept: Mapping[str, str], settled: Mapping[str, str]) -> dict[str, str]:
        """The users of the panel's part: one secret a name, which PgBouncer keeps once for all its pools."""
        secrets = {self.pooler.admin_user: kept.get(self.pooler.admin_user, self.pooler.admin_password), **kept}
        before = render.users(render.ours(USERLIST, settled.get(USERLIST, "")))
        for entry in sorted(wanted, key=lambda entry: self.pools[entry.pool].state == PoolState.PENDING):
            role, pool = entry.user or entry.auth_user, self.pools[entry.pool]
            pending = pool.state == PoolState.PENDING
            secret = entries.password_of(pool, role) if pending else before.get(role, entry.password)
            if secrets.setdefault(role, secret) != secret:
                raise Rejected(
                    f"pooler {self.pooler} already keeps another password for {role}, and PgBouncer has one for each "
                    f"name: give pool {pool} a user of its own, or {role} the same password everywhere",
                    pool.pk,
                )
        secrets = self._remembered_users(wanted) | secrets
        return {role: secret for role, secret in secrets.items() if role not in kept}

    def _remembered_users(self, wanted: list[Entry]) -> dict[str, str]:
        """Roles that PgBouncer had in userlist.txt since its start, of clusters with a pool of the inbound user.

        Taken out of the file, a user stays in its memory without a password, and auth_query is never asked for
        it (seen on 1.18): it must stay in the file for as long as such a pool should let it in.
        """
        known = [str(row["name"]) for row in console.rows(self.connection, "users")]
        clusters = {self.pools[entry.pool].cluster for entry in wanted if entry.auth_user}
        roles = RolePassword.objects.filter(cluster__in=clusters, role__in=known)
        return {one.role: one.password for one in roles if not names.password_problem(one.password)}

    def _folder_as_pgbouncer_sees_it(self, disk: Files) -> str:
        """Where the pooler itself finds config_dir (a container may see another path); raises `Rejected`."""
        auth_file = next(
            str(row["value"]) for row in console.rows(self.connection, "config") if row["key"] == "auth_file"
        )
        path = PurePosixPath(auth_file)
        if path.name != USERLIST or disk[MAIN] is None:
            raise Rejected(
                f"config_dir {self.pooler.config_dir} must hold {MAIN}, and its auth_file (now {auth_file or 'unset'}) "
                f"must be {self.pooler.config_dir}/{USERLIST}: change it, RELOAD, then apply again"
            )
        return str(path.parent)

    def _remember_entries(self, on_disk: list[Entry], settled: Mapping[str, str], trust_disk: bool) -> None:
        """Keep the names that an apply may make disappear; pools of somebody else are none of them."""
        before = entries.read(settled.get(DATABASES, ""))
        known = {entry.pool for entry in before} | set(self.pooler.pools.values_list("pk", flat=True))
        strangers = sorted(entry.name for entry in on_disk if entry.pool not in known)
        if strangers and trust_disk:
            raise Rejected(
                f"{self.pooler.config_dir}/{DATABASES} holds pools that this panel doesn't know: "
                f"{', '.join(strangers)}; move it away if nobody needs them, or register the pooler's own folder"
            )
        self.names |= {entry.name for entry in (*on_disk, *before)}

    def _changed(self, draft: Draft) -> list[Pool]:
        return [pool for pk, pool in self.pools.items() if pk in draft.changed]


def _text(disk: Files, name: str) -> str:
    return (disk[name] or b"").decode(errors="surrogateescape")

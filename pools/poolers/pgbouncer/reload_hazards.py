"""What a reload would break of what the operator has, found before it: an end of PgBouncer, and users locked out.

`database_entries` tells how PgBouncer comes to know a user, and what it can't change in place.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

import psycopg
from django.utils.translation import gettext as _

from pools.poolers.faults import Rejected
from pools.poolers.pgbouncer import console, database_entries, global_settings, operators_config, render, userlist
from pools.poolers.pgbouncer.config_builder import ConfigBuilder
from pools.poolers.pgbouncer.database_entries import Entry
from pools.poolers.pgbouncer.render import DATABASES, USERLIST, text_of
from pools.poolers.pooler_login import LoginAddress, connected, reason_of, refusing_cleartext
from pools.poolers.session import Files

TIMEOUT_S = 10
MOST_TRIED = 20
Login = tuple[str, str]  # the name of an entry, and a user who has a pool there


@dataclass(frozen=True)
class Hazards:
    """The hazards of one draft, asked of the `consoles` of all processes.

    `names` are those that the panel has or had in its own file, `is_disk_sure` is False where a dead worker may have
    written to the files.
    """

    drafted: ConfigBuilder
    consoles: Sequence[console.Console]
    version_text: str
    names: Collection[str]
    is_disk_sure: bool

    def to_remove_first(self, wanted: list[Entry], contents: Files) -> set[str]:
        """Return the names of entries that one reload must omit; raises `Rejected` for the operator's own."""
        version = self.drafted.version
        if not database_entries.may_need_removal(version, wanted) or self._finds_users_as_before(contents):
            return set()
        found = [self._leaving_one(one, wanted, contents) for one in self.consoles]
        return set().union(*found)

    def refuse_lockout(self) -> None:
        """Raise `Rejected` for pools whose user an entry of the operator's looks up with another password.

        Once in userlist.txt, it is looked up no more. Only users who have logged in there since PgBouncer's start are
        known; each logs in there once with the pool's password.
        """
        known = render.users(text_of(self.drafted.disk, USERLIST))
        coming = {entry.role: pool.pk for pool, entry in self.drafted.asked if entry.role not in known}
        if not coming or not self.drafted.operators.uses_auth_query:
            return
        reasons: dict[UUID, str] = {}
        tried = sorted((name, user) for name, user in self._queried_users() if user in coming)[:MOST_TRIED]
        for name, user in tried:
            if reason := self._refusal(name, user):
                reasons[coming[user]] = _(
                    "entry %(name)s, which is not the panel's, looks up %(user)s and does not take its password of "
                    "this pool (%(reason)s): once in userlist.txt, %(user)s would be locked out there; give the pool "
                    "another user, or %(user)s the same password on both servers"
                ) % {"name": name, "user": user, "reason": reason}
        if reasons:
            raise Rejected.each(reasons)

    def kept_until_restart(self, wanted: list[Entry], old: Files) -> Iterator[str]:
        """Yield a sentence for each entry of the operator that is served again and inherits from a removed pool."""
        operators, secrets = self.drafted.operators, render.users(text_of(old, USERLIST))
        read = self.drafted.reader.read(text_of(old, DATABASES))
        before = {entry.name: entry for entry in read if entry.name in operators.entries}
        for name in sorted(before.keys() - {entry.name for entry in wanted if entry.name in before}):
            line, user = operators.entries[name], before[name].user
            keeps_keys = self.drafted.version < userlist.FORGETS_KEYS and userlist.is_verifier(secrets.get(user, ""))
            if user and (keeps_keys or "user" not in line.pairs):
                yield _(
                    "entry %(name)s of %(file)s is served again, but PgBouncer keeps what it knows of %(user)s there "
                    "until it is restarted"
                ) % {"name": name, "file": operators_config.shortened(line.file), "user": user}

    def _leaving_one(self, connection: console.Console, wanted: list[Entry], contents: Files) -> set[str]:
        table = console.table(connection, "databases")
        name, user = (table.columns.index(column) for column in ("name", "force_user"))
        forced = {row[name]: row[user] for row in table.rows}
        pools, users = (console.rows(connection, word) for word in ("pools", "users"))
        leaving = database_entries.without_fixed_user(forced, wanted)
        known = {str(row["name"]) for row in users}
        crashing = database_entries.crashing_entries(
            self.drafted.version, pools, forced, wanted, known, listed(contents)
        )
        fixed = {entry.name for entry in wanted if entry.user and forced.get(entry.name)}  # one for another, in place
        if own := {one for one in crashing if one[0] not in fixed and self._is_operators(one[0])}:
            self._refuse_crash(own)
        return leaving | {name for name, _user in crashing}

    def _is_operators(self, name: str) -> bool:
        """Return whether a name goes on being served while the panel's entry of it is absent for one reload."""
        operators = self.drafted.operators
        return operators.serves_any or name in operators.entries or name not in self.names

    def _refuse_crash(self, own: Collection[Login]) -> None:
        """Raise `Rejected` for the pools that bring users whom the operator's entries have looked up."""
        names, users = ({one[at] for one in own} for at in (0, 1))
        blamed = [pool.pk for pool, entry in self.drafted.asked if entry.name in names or entry.role in users]
        raise Rejected(
            _(
                "%(version)s would die at the next login of %(users)s to %(names)s, where it has looked them up and "
                "would now find them otherwise: update it to %(mended)s or later, or give the pool another user"
            )
            % {
                "version": self.version_text,
                "users": ", ".join(sorted(users)),
                "names": ", ".join(sorted(names)),
                "mended": ".".join(map(str, database_entries.TOLERANT)),
            },
            *blamed,
            settings=self.drafted.settings_changed and not blamed,
        )

    def _finds_users_as_before(self, contents: Files) -> bool:
        """Return whether entries, fixed users and the list of users are as last verified.

        That is what PgBouncer runs where it still lies on the disk: no need to have ten thousand entries listed.
        """
        drafted = self.drafted
        if not self.is_disk_sure or text_of(drafted.disk, DATABASES) != drafted.settled.get(DATABASES):
            return False
        before = ((drafted.before.get(entry.pool), entry) for _, entry in drafted.asked)
        same = all(old and (old.name, old.user) == (entry.name, entry.user) for old, entry in before)
        settled = {name: drafted.settled.get(name, "").encode() for name in (USERLIST, DATABASES)}
        return same and listed(contents) <= listed(settled)

    def _queried_users(self) -> set[Login]:
        """Return entries that are not the panel's, with the users who have logged in there as themselves."""
        found: set[Login] = set()
        for one in self.consoles:
            forced = {row["name"]: row["force_user"] for row in console.rows(one, "databases")}
            logins = ((str(row["database"]), str(row["user"])) for row in console.rows(one, "pools"))
            found |= {(name, user) for name, user in logins if name not in self.names and not forced.get(name)}
        return found

    def _refusal(self, name: str, user: str) -> str:
        """Return why the entry does not let a user in with the password of the pools; empty where it does, or can't."""
        pooler = self.drafted.pooler
        secret = next(
            entry.password or self.drafted.found.password(pool, user)
            for pool, entry in self.drafted.asked
            if entry.role == user
        )

        def log_in(address: LoginAddress) -> psycopg.Connection[tuple[object, ...]]:
            return psycopg.connect(
                **address,
                user=user,
                password=secret,
                dbname=name,
                application_name="pooldeck",
                connect_timeout=TIMEOUT_S,
                gssencmode="disable",
                **refusing_cleartext(pooler),
            )

        try:
            connected(pooler, log_in).close()
        except psycopg.Error as error:
            reason = reason_of(error)
            return reason if "authentication failed" in reason else ""
        return ""


def listed(contents: Files) -> set[str]:
    """Return the users that PgBouncer knows without a look-up."""
    return {*render.users(text_of(contents, USERLIST)), *global_settings.users_of(text_of(contents, DATABASES))}

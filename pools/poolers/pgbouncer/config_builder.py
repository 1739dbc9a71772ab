"""Builds the files of a PgBouncer from its desired state; reads no console and writes nothing."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from uuid import UUID

from django.utils.translation import gettext as _

from pools.models import Pool, Pooler, PoolSet, PoolState
from pools.poolers.faults import Rejected
from pools.poolers.pgbouncer import (
    access,
    access_rules,
    database_entries,
    global_settings,
    render,
    settings_place,
    sharing,
    taken_entries,
    user_limits,
    userlist,
)
from pools.poolers.pgbouncer.access import Access, Place
from pools.poolers.pgbouncer.access_rules import Admission
from pools.poolers.pgbouncer.database_entries import Entry, LoginCache
from pools.poolers.pgbouncer.global_settings import ACCESS, SETTINGS, Spec
from pools.poolers.pgbouncer.operators_config import Operators
from pools.poolers.pgbouncer.render import DATABASES, KEPT, MAIN, MARK, USERLIST, text_of
from pools.poolers.pgbouncer.sharing import Sharing
from pools.poolers.pgbouncer.userlist import Verifiers
from pools.poolers.session import Files
from pools.poolers.settings_schema import Version

LOGIN_AND_CLIENTS = attrgetter("cluster_id", "through_id", "target", "user", "allowed_users")


@dataclass
class ConfigBuilder:
    """One rendering: `disk` are the files in config_dir, `settled` those of the last apply.

    `folder` is config_dir as PgBouncer sees it, `known_users` are those in its memory, `config` is SHOW CONFIG,
    `operators` is what is not the panel's.
    """

    pooler: Pooler
    version: Version
    pool_set: PoolSet
    disk: Files
    settled: Mapping[str, str]
    folder: str
    known_users: list[str]
    config: Mapping[str, str] = field(default_factory=dict)
    operators: Operators = field(default_factory=Operators)
    found: LoginCache = field(default_factory=LoginCache)
    reader: database_entries.Reader = field(default_factory=database_entries.Reader)
    further_mains: tuple[str, ...] = ()  # the operator's own main files in config_dir
    sharing: Sharing = field(default_factory=Sharing)

    @cached_property
    def main(self) -> str:
        """pgbouncer.ini as it is on disk."""
        return text_of(self.disk, MAIN)

    @cached_property
    def before(self) -> dict[str, Entry]:
        """The last verified entries, by the keys of their pools."""
        return {entry.pool: entry for entry in self.reader.read(self.settled.get(DATABASES, ""))}

    @property
    def settings_changed(self) -> bool:
        """True if the program's own settings are pending."""
        return self.pooler.settings_state == PoolState.PENDING

    @cached_property
    def entries(self) -> list[Entry]:
        """The entries of pending pools as requested and of others as live, by name; each name once."""
        return sorted((*self.staying, *(entry for _, entry in self.asked)), key=attrgetter("name"))

    @cached_property
    def staying(self) -> list[Entry]:
        """The entries that are live and kept."""
        keys = (*self.pool_set.settled, *(pool.key for pool in self.pool_set.others if stays(pool)))
        return [self.before[key] for key in keys if key in self.before]

    @cached_property
    def asked(self) -> list[tuple[Pool, Entry]]:
        """The pending pools with their entries."""
        found = {entry.name for entry in self.staying}
        pairs = []
        for pool in self.pool_set.others:
            if stays(pool):
                continue
            if claim := self.operators.claim_on(pool.name):
                raise Rejected(claim, pool.pk)
            if pool.name in found:
                raise Rejected(
                    _("%(name)s is still the live name of another pool: change that one first") % {"name": pool.name},
                    pool.pk,
                )
            found.add(pool.name)
            pairs.append((pool, self._entry_of(pool)))
        return pairs

    @cached_property
    def _asked_alike(self) -> list[tuple[Pool, Entry]]:
        """One of all pending pools that have the login to their server and their clients' roles in common.

        Ten thousand pools mostly share a few, so what is asked about a role is asked once for all of them. The kinds
        are in the order of their last pools, since of different passwords of one role the last counts.
        """
        alike = {(*LOGIN_AND_CLIENTS(pool), entry.role): (pool, entry) for pool, entry in reversed(self.asked)}
        return list(reversed(alike.values()))

    def _entry_of(self, pool: Pool) -> Entry:
        """Build the entry of a pending pool; one that was taken over keeps what was not changed of its line."""
        before = self.before.get(pool.key) if pool.taken_over else None
        if before and before.kept:
            return taken_entries.edited(before, pool, self.config, self.version, self.found)
        return database_entries.of_pool(pool, self.version, self.found)

    @cached_property
    def inbound(self) -> list[Pool]:
        """The pools whose users are looked up; pending ones come last."""
        has_lookup = {entry.pool for entry in self.entries if entry.auth_user}
        found = [pool for pool in self.pool_set if pool.key in has_lookup] if has_lookup else []
        return sorted(found, key=lambda pool: not stays(pool))

    @cached_property
    def admissions(self) -> dict[str, Admission]:
        """The users that may log in to the pools that are not open to all, by the pools' keys."""
        before = access_rules.read(self.settled.get(ACCESS, ""))
        found = {entry.pool: before[entry.pool] for entry in self.staying if entry.pool in before}
        return found | access_rules.admissions_of(pool for pool, _ in self.asked)

    @cached_property
    def access(self) -> Access:
        """The rules of who may log in, and the operator's way to log in, which they take along."""
        admissions = sorted(self.admissions.values(), key=attrgetter("name"))
        reading, place = self.operators.reading, Place(self.pooler, self.folder)
        own = access.own_values(reading.values("pgbouncer"), self.settled, self.config)
        return access.of(admissions, own, self._asked_spec, place, self._include_obstacle)

    @property
    def _include_obstacle(self) -> str:
        """Why settings of the panel's can't be included, or would not count; empty where they do."""
        return self.placement.problem or access.overridden(self.placement.reading)

    @cached_property
    def placement(self) -> settings_place.Place:
        """The line at which pgbouncer.ini reads the panel's settings: below those that would override them."""
        derived = {access.TYPE, access.FILE} if self.admissions else set()
        names = derived | self._asked_spec.settings.keys() | ({"auth_query"} if self.inbound else set())
        names |= self.sharing.settings.keys()
        reading = self.operators.reading
        return settings_place.find(self.main, self.folder, reading, self.settled, names, self.version)

    @cached_property
    def spec(self) -> Spec:
        """The settings, limits and files besides the pools, with what the pools need of the program."""
        spec, rules = self._asked_spec, self.access
        shared = self.sharing.settings_beside(spec.settings)
        derived = spec.with_derived(auth_query=self._one_query(spec), **rules.settings, **shared)
        return replace(derived, files={**spec.files, **rules.files})

    @cached_property
    def _asked_spec(self) -> Spec:
        """The settings, limits and files that were asked for."""
        before = global_settings.users_of(self.settled.get(DATABASES, ""))
        if self.settings_changed:
            spec = global_settings.desired(self.pooler, self.folder, self.version, before)
            panels = before.keys() | global_settings.users_of(text_of(self.disk, DATABASES)).keys()
            claims = user_limits.claims(spec.users, panels, self.operators, self.config, self.version)
            if found := list(claims):
                raise Rejected("; ".join(found), settings=True)
            return spec
        return global_settings.settled(self.settled, before)

    @cached_property
    def texts(self) -> dict[str, str]:
        """The files to write, each after those it refers to; pgbouncer.ini only where it lacks an include."""
        access.require_client_names([pool for pool, _entry in self.asked], self.access.auth_type)
        kept = self._kept_users()
        found: dict[str, str] = dict(self.spec.files)
        if self.spec.lines or any(SETTINGS in files for files in (self.settled, self._on_disk)):
            found[SETTINGS] = self.spec.text
        secrets = self._secrets(render.users(kept))
        queried = self._still_queried({*secrets, *render.users(kept)})
        if self._needs_userlist(secrets, queried):
            found[USERLIST] = render.userlist(kept, secrets, queried)
        found[DATABASES] = render.databases(self.entries, self.spec.users, self.reader.line, self.sharing.peers)
        self.reader.know(found[DATABASES], self.entries)
        main = self._with_settings() if SETTINGS in found else self.main
        included = render.with_include(main, self.folder)
        mains = {name: text_of(self.disk, name) for name in self.further_mains}
        further = dict(render.missing_includes(mains, self.folder, with_settings=SETTINGS in found))
        own = self.sharing.mains(included, self.placement.reading, found)
        return found | further | own | ({MAIN: included} if included != self.main else {})

    def _needs_userlist(self, secrets: userlist.Secrets, queried: userlist.Secrets) -> bool:
        """Return whether userlist.txt is written: not where it would list nobody new; raises `Rejected` without one."""
        if not self.pooler.file_paths:
            return True
        if not self.config.get("auth_file"):
            if new := sorted(secrets.keys() - {self.pooler.admin_user}):
                text = _("PgBouncer has no auth_file, which must list %(users)s: set one, RELOAD it, then apply again")
                raise Rejected(text % {"users": ", ".join(new)})
            return False
        return bool(secrets or queried or MARK in text_of(self.disk, USERLIST))

    @property
    def gone(self) -> frozenset[str]:
        """Given files, and rules, that nothing refers to any more, and main files of processes that have ended."""
        names = {*global_settings.REFERENCED, *sharing.panel_main_files(self.disk)}
        return frozenset(name for name in names if name in self._on_disk and name not in self.texts)

    def old(self, *, trust_disk: bool) -> Files:
        """Return the files that a rollback restores, each after those it refers to."""
        names = [*self.texts, *self.gone]
        old: dict[str, bytes | None] = {name: self.disk[name] for name in names}
        if self.operators.uses_auth_query and USERLIST in old:
            old[USERLIST] = self._old_userlist().encode(errors="surrogateescape")
        if not trust_disk:
            whole = {*global_settings.REFERENCED, *sharing.panel_main_files(self.texts)}
            texts = {name: self.settled.get(name) for name in names if name in whole}
            old |= {name: text.encode() if text is not None else None for name, text in texts.items()}
        for name, empty in ((DATABASES, render.databases([], {})), (SETTINGS, Spec().text)):
            if name in old and (not trust_disk or old[name] is None) and not self._is_unread(name):
                old[name] = self.settled.get(name, empty).encode()
        return dict(sorted(old.items(), key=lambda one: one[1] is None))

    def _is_unread(self, name: str) -> bool:
        """Return whether the settings were in no file before, and none is to come of a rollback."""
        is_included = render.SETTINGS_INCLUDE.search(text_of(self.disk, MAIN))
        return name == SETTINGS and self.disk[name] is None and name not in self.settled and not is_included

    def _old_userlist(self) -> str:
        """Return userlist.txt of before, with the users that it would get now: PgBouncer may have read them by then."""
        text = text_of(self.disk, USERLIST)
        above, _, below = text.partition(KEPT)
        before, now = render.users(text), render.users(self.texts.get(USERLIST, text))
        came = {user: secret for user, secret in now.items() if user not in before}
        return render.with_kept(above, render.users(below) | came)

    @cached_property
    def verifiers(self) -> Verifiers:
        """The verifiers that userlist.txt has in place of passwords, read from the clusters of the requested pools."""
        is_of_use = userlist.verifiers_are_of_use(self.version, self.access.auth_type)
        if not is_of_use or self.inbound or self.operators.uses_auth_query:  # its server may have other salts
            return Verifiers()
        homes: dict[str, set[tuple[UUID, bool]]] = {}
        wanted = Pool.objects.wanted().filter(pooler=self.pooler).exclude(user="")
        for role, cluster_id, through in wanted.values_list("user", "cluster_id", "through_id").distinct().order_by():
            homes.setdefault(role, set()).add((cluster_id, through is not None))
        passwords = {entry.user: entry.password for entry in self.entries if entry.user}
        before = {entry.user: entry.password for entry in self.before.values()}
        live = {
            role: secret
            for role, secret in self._panels_users.items()
            if userlist.is_verifier(secret) and role in homes and passwords.get(role) == before.get(role)
        }
        pools = [pool for pool, entry in self._asked_alike if entry.role]
        return userlist.find_verifiers(pools, homes, passwords, Verifiers(live))

    @property
    def back_in_clear_text(self) -> set[str]:
        """Names of entries whose role goes from a verifier back to clear text with another password.

        PgBouncer before 1.26 forgets the keys of the verifier only with the entry (see `userlist`).
        """
        now, then = self._roles
        lost = {role for role, was in then.items() if userlist.is_verifier(was) and role in now}
        lost = {role for role in lost if not userlist.is_verifier(now[role])}
        return {
            entry.name
            for entry in self.entries
            if entry.user in lost and (old := self.before.get(entry.pool)) and old.password != entry.password
        }

    @property
    def changed(self) -> frozenset[str]:
        """The keys of the pending pools."""
        return frozenset(entry.pool for _, entry in self.asked)

    @cached_property
    def moved(self) -> frozenset[str]:
        """The pending pools whose route or password differs from what is live."""
        return frozenset(entry.pool for _, entry in self.asked if self._moved(entry))

    def notes(self) -> Iterator[str]:
        """Yield each remark about the pending pools once."""
        pools = [pool for pool, _ in self._asked_alike]
        yield from sorted({note for pool in pools if (note := self.found.address(pool)[2])})
        if self.access.obstacle and any(pool.key in self.admissions for pool in pools):
            yield _("the pools stay open to every user that PgBouncer knows: %(obstacle)s") % {
                "obstacle": self.access.obstacle
            }
        yield from user_limits.notes((entry for _, entry in self.asked), self.operators, self.version)
        for role, why in sorted(self.verifiers.in_clear.items()):
            yield userlist.IN_CLEAR % {"role": role, "why": why}
        yield from global_settings.unenforced_limits(
            self.spec.users, {entry.user for entry in self.entries}, self.version
        )
        clusters = {pool.cluster for pool in (self.pool_set if self.settings_changed else pools)}
        yield from global_settings.weaker_tls(clusters, self.spec.lines, self.config)

    @cached_property
    def _panels_users(self) -> dict[str, str]:
        """User → secret of the panel's part of userlist.txt as it was last applied."""
        return render.users(render.ours(USERLIST, self.settled.get(USERLIST, "")))

    @property
    def _on_disk(self) -> set[str]:
        return {name for name, content in self.disk.items() if content is not None}

    def _moved(self, entry: Entry) -> bool:
        if entry.pool not in self.before or entry.moved_from(self.before[entry.pool]):
            return True
        now, then = self._roles
        return now.get(entry.role) != then.get(entry.role)

    @cached_property
    def _roles(self) -> list[dict[str, str]]:
        """User → secret of userlist.txt as it will be, and as it was last applied."""
        return [render.users(files.get(USERLIST, "")) for files in (self.texts, self.settled)]

    def _with_settings(self) -> str:
        """Return pgbouncer.ini with the panel's settings; raises `Rejected` where they would not count."""
        spec, changed, place = self.spec, self.settings_changed, self.placement
        if place.problem:
            raise Rejected(place.problem, settings=True)
        if again := place.set_again(spec.lines if changed else spec.derived):
            asking = [] if changed else [pool.pk for pool, entry in self.asked if entry.auth_user]
            raise Rejected("; ".join(again), *asking, settings=changed)
        return place.main

    def _one_query(self, spec: Spec) -> str:
        """Return the look-up query for all inbound pools, for releases without one per entry."""
        if self.version >= database_entries.QUERY_PER_ENTRY:
            return ""
        live = global_settings.derived_of(self.settled.get(SETTINGS, "")).get("auth_query", "")
        asking: dict[str, Pool] = {}
        for pool in self.inbound:
            query = live if stays(pool) else database_entries.query_of(pool)
            asking.setdefault(query, pool)
            if len(asking) > 1:
                first, second = (one.cluster for one in asking.values())
                raise Rejected(
                    _(
                        "pools of inbound users look up secrets differently on %(first)s and on %(second)s, and "
                        "this release of PgBouncer has one auth_query for all (1.22 brought one each): set the "
                        "look-up in the same way on both"
                    )
                    % {"first": first, "second": second},
                    pool.pk,
                )
        query = next(iter(asking), "")
        if query and spec.settings.get("auth_query", query) != query:
            raise Rejected(_("auth_query is determined by the pools of inbound users: leave it out"), settings=True)
        return query

    def _kept_users(self) -> str:
        kept = render.kept_part(text_of(self.disk, USERLIST))
        if line := render.broken_line(kept):
            raise Rejected(
                _("%(config_dir)s/%(userlist)s is broken at line %(line)s, which PgBouncer can't read")
                % {"config_dir": self.pooler.config_dir, "userlist": USERLIST, "line": line}
            )
        return kept

    def _secrets(self, kept: Mapping[str, str]) -> userlist.Secrets:
        """Return the secrets of the panel's part of userlist.txt."""
        inbound = {pool.cluster for pool in self.inbound}
        secrets = userlist.secrets_of(self.pooler, self.staying, self.asked, kept, self._panels_users, self.found)
        guests = access.admitted_passwords([pool for pool, _ in self._asked_alike], self.admissions, self._panels_users)
        secrets = userlist.still_listed([*self.known_users, *self.spec.users], inbound) | guests | secrets
        if (inbound or self.operators.uses_auth_query) and self.version < database_entries.TOLERANT:
            asking = [pool.pk for pool, entry in self.asked if entry.auth_user and not self.settings_changed]
            userlist.refuse_unlisted(self.spec.users.keys() - {*secrets, *kept}, asking, settings=self.settings_changed)
        own = {self.pooler.admin_user, *kept}
        secrets |= {role: one for role, one in self.verifiers.of.items() if role in secrets and role not in own}
        return {role: secret for role, secret in secrets.items() if role not in kept}

    def _still_queried(self, listed: Collection[str]) -> userlist.Secrets:
        """Return users of the files before that no pool needs, but look-ups of the operator's may serve."""
        if not self.operators.uses_auth_query:
            return {}
        on_disk = text_of(self.disk, USERLIST).partition(MARK)[2]
        had = {user: one for user, one in render.users(on_disk).items() if user not in listed}
        return userlist.still_queried(self.known_users, had) if had else {}


def stays(pool: Pool) -> bool:
    """Return whether its live configuration is kept: only a pending pool asks for something new."""
    return pool.state != PoolState.PENDING

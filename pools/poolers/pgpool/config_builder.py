"""Renders the files of a Pgpool-II from its pools, its settings and what was live before."""

from collections.abc import Collection, Mapping
from pathlib import PurePosixPath
from uuid import UUID

from django.utils.translation import gettext as _

from core.lib.crypto import SealBroken
from pools.models import Cluster, Pool, Pooler, PoolState
from pools.poolers import settings_schema
from pools.poolers.faults import Rejected
from pools.poolers.pgpool import backends, hba_access, pcp, render, verify
from pools.poolers.pgpool.backends import Backend
from pools.poolers.pgpool.hba_access import Access
from pools.poolers.pgpool.render import FILES, HBA, MAIN, PASSWD, PCP
from pools.poolers.pgpool.settings_catalog import CATALOG, RULES, by_name
from pools.poolers.session import Draft, Files
from pools.poolers.settings_schema import Scope, Setting, Type, Version

GIVEN = {f"pooldeck_{one.name}.pem": one.name for one in CATALOG if one.type == Type.FILE and one.name != RULES}
ALL_FILES = (*FILES, *GIVEN)
BACKEND_SETTINGS = ("backend_weight", "backend_flag")
ON_OFF = {"1": "on", "True": "on", "0": "off", "False": "off"}
Settings = dict[str, str]


class ConfigBuilder:
    """One rendering; `live` is PGPOOL SHOW ALL, `disk` and `settled` the files as they lie there and were proved."""

    def __init__(self, pooler: Pooler, version: Version, live: Mapping[str, str]) -> None:
        self.pooler, self.version, self.live = pooler, version, live
        self.known = by_name(version)
        self.disk: Files = {}
        self.settled: Mapping[str, str] = {}
        self.pools: dict[UUID, Pool] = {}

    def draft(self, pools: Collection[Pool], disk: Files, settled: Mapping[str, str], trust_disk: bool) -> Draft:
        """See `pools.poolers.base.Session.draft`."""
        self.disk, self.settled, self.pools = disk, settled, {pool.pk: pool for pool in pools}
        if disk[MAIN] is None:
            raise Rejected(
                _("config_dir %(config_dir)s must hold %(main)s: register its folder")
                % {"config_dir": self.pooler.config_dir, "main": MAIN}
            )
        before = {one.pool: one for one in hba_access.read(settled.get(HBA, ""))}
        accesses = self._accesses(before)
        cluster = self._cluster()
        below = {
            PASSWD: render.passwords(self._secrets(accesses, cluster)),
            HBA: render.admissions(accesses, self.pooler.admin_user, self._rules()),
            PCP: self._pcp_login(),
            MAIN: self._settings(cluster),
        }
        texts = {name: render.file(self._kept(name), text) for name, text in below.items()} | self._given_files()
        changed = [pool for pool in self.pools.values() if pool.state == PoolState.PENDING]
        moved = [pool.key for pool in changed if _moved(pool, before, texts, settled)]
        gone = frozenset(name for name in GIVEN if name in settled and name not in texts)
        old = {name: self._before(name, trust_disk) for name in (*texts, *gone)}
        # the panel's login at the PCP port stays, or nobody could have the old files read
        back = {
            MAIN: self._with_restored_settings(old[MAIN], texts[MAIN]),
            PCP: texts[PCP].encode(errors="surrogateescape"),
        }
        return Draft(
            texts=texts,
            before=old | back,
            gone=gone,
            changed=frozenset(pool.key for pool in changed),
            moved=frozenset(moved),
            settings_changed=self.pooler.settings_state == PoolState.PENDING,
        )

    def _kept(self, name: str) -> str:
        return render.kept(_text(self.disk, name))

    def _before(self, name: str, trust_disk: bool) -> bytes | None:
        """Return the files that a rollback restores, without the panel's part of a worker that died."""
        if trust_disk:
            return self.disk[name]
        if name in self.settled and name not in GIVEN:
            return render.file(self._kept(name), render.ours(self.settled[name])).encode(errors="surrogateescape")
        if name in GIVEN:
            return self.settled[name].encode() if name in self.settled else None
        kept = self._kept(name)
        return kept.encode(errors="surrogateescape") if self.disk[name] is not None else None

    def _with_restored_settings(self, old: bytes | None, new: str) -> bytes:
        """Return the old pgpool.conf, with the live values of settings that only the new one has."""
        text = (old or b"").decode(errors="surrogateescape")
        only_new = set(render.values_in(render.ours(new))) - set(render.values_in(text))
        values = {name: self.live[name] for name in sorted(only_new) if self._is_restorable(name)}
        text = text if render.MARK in text or not values else render.file(text, "")
        return (text + render.restoring_settings(values)).encode(errors="surrogateescape")

    def _is_restorable(self, name: str) -> bool:
        """Return whether a reload can set what was live of it."""
        return name in self.live and "'" not in self.live[name] and not verify.waits_for_restart(name, self.known)

    def _accesses(self, before: Mapping[UUID, Access]) -> list[Access]:
        """Pending pools as they are asked for, all others as they are live."""
        found = [hba_access.of_pool(pool) for pool in self.pools.values() if pool.state == PoolState.PENDING]
        staying = [pk for pk, pool in self.pools.items() if pool.state != PoolState.PENDING and pk in before]
        return found + [before[pk] for pk in staying]

    def _cluster(self) -> Cluster | None:
        """Return the cluster it serves; raises `Rejected` with the pools that lead to another."""
        was = backends.primary_of(backends.read(self.settled.get(MAIN, "")))
        clusters = {pool.cluster_id: pool.cluster for pool in self.pools.values()}
        of_before = next((pk for pk in clusters if was and was.key == f"cluster {pk}"), None)
        serves = of_before or next(iter(clusters), None)
        if serves is None:
            return None
        if others := [pool for pool in self.pools.values() if pool.cluster_id != serves]:
            raise Rejected(one_cluster(self.pooler, clusters[serves], others[0]), *(pool.pk for pool in others))
        return clusters[serves]

    def _secrets(self, wanted: Collection[Access], cluster: Cluster | None) -> dict[str, str]:
        """Return the panel's part of pool_passwd, without users of the operator's part."""
        was = render.users_in(render.ours(self.settled.get(PASSWD, "")))
        secrets = {self.pooler.admin_user: self.pooler.admin_password}
        for one in sorted(wanted, key=lambda one: self.pools[one.pool].state == PoolState.PENDING):
            pool = self.pools[one.pool]
            for role in [one.user] if one.user else _known_roles(pool):
                pending = pool.state == PoolState.PENDING
                self._add(secrets, pool, role, _password(pool, role) if pending else was.get(role, ""))
        if cluster and cluster.admin_password and not hba_access.password_problem(cluster.admin_password):
            secrets.setdefault(cluster.admin_user, cluster.admin_password)  # the health check logs in with it
        kept = render.users_in(self._kept(PASSWD))
        return {role: secret for role, secret in secrets.items() if role not in kept and secret}

    def _add(self, secrets: dict[str, str], pool: Pool, role: str, secret: str) -> None:
        # none: of a settled pool whose role stands in the operator's part, and not in the panel's of before
        if secret and secrets.setdefault(role, secret) != secret:
            raise Rejected(
                _(
                    "pooler %(pooler)s already keeps another password for %(role)s, and pool_passwd has one for "
                    "each name: give %(role)s the same password everywhere"
                )
                % {"pooler": self.pooler, "role": role},
                pool.pk,
            )

    def _pcp_login(self) -> str:
        """Return the line for the panel's login at the PCP port, unless the operator's part has it."""
        user = self.pooler.admin_user
        if any(line.startswith(f"{user}:") for line in self._kept(PCP).splitlines()):
            return ""
        return f"{user}:{pcp.stored(self.pooler.admin_password)}\n"

    def _settings(self, cluster: Cluster | None) -> str:
        """Return the panel's part of pgpool.conf: backends, the user of their checks, then settings of the panel."""
        was = backends.read(self.settled.get(MAIN, ""))
        servers: list[Backend] = backends.of_cluster(cluster, was) if cluster else was
        values = self._desired()
        text = "".join(server.lines(values) for server in servers)
        managed = self._rules_on()
        if cluster:
            managed |= {"health_check_user": cluster.admin_user, "sr_check_user": cluster.admin_user}
        if len(servers) > 1 and self.live.get("backend_clustering_mode") == "raw":
            managed["backend_clustering_mode"] = "streaming_replication"  # raw mode never asks standbys
        own = {name: value for name, value in values.items() if not name.startswith(BACKEND_SETTINGS)}
        restored = render.restoring_settings(self._defaults_of_gone(own))
        return text + render.settings(managed | own | self._paths()) + restored

    def _rules_on(self) -> Settings:
        """Turn pool_hba.conf on; that is its operator's to do on one that was taken over."""
        if not self.pooler.config_file or verify.truth(self.live.get("enable_pool_hba", "")) == "on":
            return {"enable_pool_hba": "on"}
        if self.pools:
            text = _(
                "enable_pool_hba is off in %(main)s, and turning it on would lock out all clients without a rule: "
                "write their rules into pool_hba.conf above the panel's mark, set enable_pool_hba = on and reload "
                "Pgpool-II"
            )
            raise Rejected(text % {"main": MAIN}, *self.pools)
        return {}

    def _desired(self) -> Settings:
        """Return the requested settings while they are pending, else the live ones."""
        if self.pooler.settings_state != PoolState.PENDING:
            return self._settled_values()
        problems = settings_schema.problems(CATALOG, Scope.PROGRAM, self.pooler.settings, self.version)
        for _name, problem in problems:
            raise Rejected(problem, settings=True)
        return {name: rendered(self.known[name], value) for name, value in self.pooler.settings.items()}

    def _settled_values(self) -> Settings:
        values = render.values_in(render.lasting(self.settled.get(MAIN, "")))
        return {name: value for name, value in values.items() if name in self.known and not self._is_file(name)}

    def _is_file(self, name: str) -> bool:
        return self.known[name].type == Type.FILE

    def _defaults_of_gone(self, own: Settings) -> Settings:
        """Return the defaults of settings that are no longer set by anybody."""
        once = render.values_in(render.ours(self.settled.get(MAIN, "")))
        gone = set(once) - set(own) - set(render.values_in(self._kept(MAIN)))
        names = sorted(name for name in gone if name in self.known and not name.startswith(BACKEND_SETTINGS))
        return {name: rendered(self.known[name], self.known[name].default) for name in names}

    def _given_files(self) -> dict[str, str]:
        """Return uploaded files by name while they are pending, else those of the last revision."""
        if self.pooler.settings_state != PoolState.PENDING:
            return {name: self.settled[name] for name in GIVEN if name in self.settled}
        uploads = {one.setting: one.content for one in self.pooler.given_files.all()}
        return {name: uploads[setting] for name, setting in GIVEN.items() if setting in uploads}

    def _rules(self) -> str:
        """Return given lines of pool_hba.conf while they are pending, else those of the last revision."""
        if self.pooler.settings_state != PoolState.PENDING:
            return render.given_rules(self.settled.get(HBA, ""))
        rules_file = self.pooler.given_files.filter(setting=RULES).first()
        return rules_file.content if rules_file else ""

    def _paths(self) -> Settings:
        """Return the paths of the uploaded files."""
        folder = PurePosixPath(self.pooler.config_dir)
        return {GIVEN[name]: str(folder / name) for name in self._given_files()}


def one_cluster(pooler: Pooler, serves: Cluster, other: Pool) -> str:
    """Return why a pool that leads to another cluster can't be on this pooler."""
    return _(
        "pooler %(pooler)s is a Pgpool-II and serves one cluster, %(serves)s: for cluster %(cluster)s register another "
        "Pgpool-II, or use a PgBouncer, which serves many"
    ) % {"pooler": pooler, "serves": serves, "cluster": other.cluster}


def rendered(setting: Setting, value: object) -> str:
    """Return a setting's value in the form of pgpool.conf."""
    text = str(value)
    return ON_OFF.get(text, text) if setting.type == Type.BOOLEAN else text


def _known_roles(pool: Pool) -> list[str]:
    """Whom a pool of the inbound user lets in: nothing else than pool_passwd tells Pgpool-II a password."""
    return sorted({pool.cluster.admin_user, *pool.cluster.role_passwords.values_list("role", flat=True)})


def _password(pool: Pool, role: str) -> str:
    try:
        password = pool.cluster.password_of(role)
    except SealBroken:
        words = _("the stored password of %(role)s on %(cluster)s can't be decrypted: enter it again") % {
            "role": role,
            "cluster": pool.cluster,
        }
        raise Rejected(words, pool.pk) from None
    if not password:
        raise Rejected(
            _("the panel doesn't know the password of %(role)s on %(cluster)s: give it with the pool")
            % {"role": role, "cluster": pool.cluster},
            pool.pk,
        )
    if problem := hba_access.name_problem(role) or hba_access.password_problem(password):
        params = {"role": role, "cluster": pool.cluster, "problem": problem}
        raise Rejected(_("%(role)s on %(cluster)s: %(problem)s") % params, pool.pk)
    return password


def _moved(pool: Pool, before: Mapping[UUID, Access], texts: Mapping[str, str], settled: Mapping[str, str]) -> bool:
    """Return whether another database or login is asked for than what is live, or other servers."""
    if before.get(pool.pk) != Access(pool.pk, pool.database, pool.user):
        return True
    now, then = (render.users_in(render.ours(files.get(PASSWD, ""))).get(pool.login) for files in (texts, settled))
    return now != then or backends.read(texts[MAIN]) != backends.read(settled.get(MAIN, ""))


def _text(contents: Files, name: str) -> str:
    return (contents.get(name) or b"").decode(errors="surrogateescape")

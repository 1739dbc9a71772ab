"""What an apply makes of who may log in: the operator's own way to log in, found behind the panel's, and the rules."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import PurePosixPath

from django.utils.translation import gettext as _

from pools.config_files import pooler_files
from pools.models import Cluster, Pool, Pooler
from pools.poolers.faults import Rejected
from pools.poolers.pgbouncer import access_rules, global_settings, hba_lists, operators_config
from pools.poolers.pgbouncer.access_rules import Admission
from pools.poolers.pgbouncer.global_settings import ACCESS, SETTINGS, Spec
from pools.poolers.pgbouncer.hba_lists import Unread
from pools.poolers.pgbouncer.operators_config import Reading

TYPE, FILE, LDAP = "auth_type", "auth_hba_file", "auth_ldap_options"
DIGEST = "sha256"


@dataclass(frozen=True)
class Place:
    """The folder of the files: the pooler's config_dir as the panel sees it, `folder` as PgBouncer does."""

    pooler: Pooler
    folder: str

    def read(self, path: str) -> str | None:
        """Return the text of a file that PgBouncer knows by this path; None where it can't be read from here."""
        start = "" if path.startswith("/") else operators_config.working_folder(self.pooler)
        try:
            here = operators_config.here(path, start, self.pooler.config_dir, self.folder) if path else ""
            return pooler_files.text_at(self.pooler, here)
        except OSError:
            return None


@dataclass(frozen=True)
class OperatorAccess:
    """The operator's way to log in, with what they ask for on the settings page; `rules` are those it amounts to."""

    values: Mapping[str, str]
    rules: str = field(default="", repr=False)
    obstacle: str = ""

    @property
    def record(self) -> dict[str, str]:
        """The record kept in the file, by which the operator's part is found again and its changes are seen."""
        return {**self.values, DIGEST: hashlib.sha256(self.rules.encode(errors="surrogateescape")).hexdigest()}


@dataclass(frozen=True)
class Access:
    """The settings and the file of the rules; none without admissions. `auth_type` is the operator's."""

    auth_type: str
    settings: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict, repr=False)
    obstacle: str = ""


def own_values(stated: Mapping[str, str], settled: Mapping[str, str], config: Mapping[str, str]) -> dict[str, str]:
    """Return the operator's auth_type and auth_hba_file, and auth_ldap_options where there are any.

    As their files have it (`stated`), else as it is live (`config`), else, where the panel's setting hides that, as it
    was when the rules were made (`settled` are the files of the last apply).
    """
    written, kept = global_settings.written(settled.get(SETTINGS, "")), access_rules.own_in(settled.get(ACCESS, ""))
    live = {name: (kept if name in written else config).get(name) or "" for name in (TYPE, FILE)}
    found = {name: stated.get(name, live[name]) for name in live}
    options = stated.get(LDAP, config.get(LDAP) or "")
    return {**found, TYPE: found[TYPE] or "md5", **({LDAP: options} if options else {})}  # md5: each release's default


def overridden(reading: Reading) -> str:
    """Return why the panel's settings would not count: a line that is read after them sets the same."""
    return next(filter(None, map(reading.set_again, (TYPE, FILE))), "")


def of(
    admissions: Sequence[Admission], values: Mapping[str, str], spec: Spec, place: Place, hindrance: str = ""
) -> Access:
    """Return the access for these admissions; `values` as `own_values`, `spec` is what is asked for.

    `hindrance`: why the panel's settings would not count.
    """
    requested = {name: spec.settings.get(name, value) for name, value in values.items()}
    auth_type = requested[TYPE]
    if not admissions:
        return Access(auth_type)
    options = spec.settings.get(LDAP, values.get(LDAP, "")) if auth_type == "ldap" else ""
    own = _own({name: values[name] for name in (TYPE, FILE)}, requested, options, spec.files, place)
    own = replace(own, obstacle=hindrance or own.obstacle)
    text = access_rules.render(admissions, own.record, own.rules, own.obstacle)
    settings = {} if own.obstacle else {TYPE: "hba", FILE: f"{place.folder}/{ACCESS}"}
    return Access(auth_type, settings, {ACCESS: text}, own.obstacle)


def _own(
    values: Mapping[str, str], asked: Mapping[str, str], options: str, given: Mapping[str, str], place: Place
) -> OperatorAccess:
    auth_type = asked[TYPE]
    if auth_type != "hba":
        return OperatorAccess(values, access_rules.of_method(auth_type, options), access_rules.obstacle(auth_type))
    try:
        return OperatorAccess(values, _rules_at(asked[FILE], given, place))
    except Unread as fault:
        return OperatorAccess(values, "", str(fault))


def _rules_at(path: str, given: Mapping[str, str], place: Place) -> str:
    """Return the rules of a file, with the names of the lists that it names; raises `Unread`."""
    name = PurePosixPath(path).name
    rules = given[name] if path == f"{place.folder}/{name}" and name in given else place.read(path)
    if rules is None:
        text = _("auth_hba_file %(path)s can't be read from here, so its rules can't be taken along")
        raise Unread(text % {"path": path})
    return hba_lists.written_out(rules, path, place.read)


def admitted_passwords(
    asked: Iterable[Pool], admissions: Mapping[str, Admission], before: Mapping[str, str]
) -> dict[str, str]:
    """Return the passwords of roles that pools admit besides their own: those that the panel knows, and the live ones.

    `before` are the panel's users as they were last applied.
    """
    roles = set().union(*{admission.users for admission in admissions.values()})
    password_of = cache(Cluster.password_of)  # a query, and thousands of pools ask for the same few
    known = (
        (role, password_of(pool.cluster, role))
        for pool in asked
        if pool.key in admissions
        for role in admissions[pool.key].users
    )
    return {role: secret for role, secret in known if secret} | {
        role: secret for role, secret in before.items() if role in roles
    }


def changed_since(texts: Mapping[str, str], stated: Mapping[str, str], place: Place) -> str:
    """Return a sentence about the operator's access settings that changed since the rules were made; empty for none.

    PgBouncer reads the panel's copy, so the operator's change waits for the next apply.
    """
    text = texts.get(ACCESS, "")
    record = access_rules.own_in(text)
    if not {TYPE, FILE, DIGEST} <= record.keys():  # there are no rules, or somebody took lines out of them: drift
        return ""
    settings = global_settings.settled(texts, {}).settings
    for name in (TYPE, FILE):
        value = stated.get(name, record[name])
        if value != record[name] and name not in settings:
            params = {"name": name, "value": value, "before": record[name] or _("empty"), "file": ACCESS}
            return _("%(name)s %(value)s waits for the next apply: %(file)s was made for %(before)s") % params
    auth_type, path = settings.get(TYPE, record[TYPE]), settings.get(FILE, record[FILE])
    options = settings.get(LDAP, stated.get(LDAP, ""))
    if auth_type == "ldap" and options and _is_other(access_rules.of_method(auth_type, options), record):
        params = {"name": LDAP, "file": ACCESS}
        return _("%(name)s changed, and waits for the next apply: %(file)s has it as it was") % params
    with suppress(Unread):
        if auth_type == "hba" and _is_other(_rules_at(path, {}, place), record):
            params = {"path": path, "file": ACCESS}
            text = _("the rules of %(path)s changed, and wait for the next apply: %(file)s has them as they were")
            return text % params
    return ""


def _is_other(rules: str, record: Mapping[str, str]) -> bool:
    return OperatorAccess({}, rules).record[DIGEST] != record[DIGEST]


def require_client_names(asked: Iterable[Pool], auth_type: str) -> None:
    """Refuse pools of the inbound user under auth_type any, where PgBouncer takes no name from a client."""
    nameless = [pool.pk for pool in asked if not pool.user]
    if nameless and auth_type == "any":
        text = _(
            "the pooler's auth_type is any, under which clients have no name, so the pool needs a fixed user: "
            "give it one, or change auth_type"
        )
        raise Rejected(text, *nameless)

"""Reads what people changed by hand below the panel's mark in a Pgpool-II's files back into settings, rules and pools.

Whatever has another place (backends, the panel's logins, files) is refused by the line, and so is what would mean
something else once it is adopted.
"""

import re
from collections.abc import Callable, Iterator, Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from pools.poolers.adoption import Adoption
from pools.poolers.pgpool import hba_access, render, verify
from pools.poolers.pgpool.config_builder import GIVEN
from pools.poolers.pgpool.render import HBA, MAIN, PASSWD, PCP
from pools.poolers.pgpool.settings_catalog import CATALOG, RULES
from pools.poolers.settings_schema import Setting, Type

Texts = Mapping[str, str]
Lines = list[tuple[int, str]]

# The release does not matter here: the rules below are stricter.
KNOWN: dict[str, Setting] = {setting.name: setting for setting in CATALOG}


def adoption(settled: Texts, found: Texts) -> Adoption:
    """Return the changes of records that the edits in `found` ask for; `settled` is the last applied revision."""
    adopted = Adoption()
    for name, adopt in PARTS.items():
        before, after = (render.lasting(texts.get(name, "")) for texts in (settled, found))
        if before == after:
            continue
        if render.MARK in found.get(name, ""):
            adopt(adopted, before, after, found[name].partition(render.MARK)[0].count("\n") + 1)
        else:
            adopted.refuse(name, 0, _("the panel's mark was removed, and all below it is the panel's: restore it"))
    for name, setting in GIVEN.items():
        if found.get(name, "") != settled.get(name, ""):
            adopted.refuse(
                name, 0, _("give the file itself (%(setting)s), on the settings page") % {"setting": setting}
            )
    return adopted


def _adopt_settings(made: Adoption, before: str, after: str, offset: int) -> None:
    was, now = render.values_in(before), render.values_in(after)
    for number, line in _lines(after, offset):
        if not (found := render.SETTING.match(line)):
            made.refuse(MAIN, number, _("it is not a line of name = value"))
        elif now[found[1]] != was.get(found[1]) and (why := _refusal(found[1])):
            made.refuse(MAIN, number, f"{found[1]}: {why}")
    for name in was.keys() - now.keys():
        if why := _refusal(name):
            made.refuse(MAIN, 0, _("%(name)s was removed: %(why)s") % {"name": name, "why": why})
    changed = {name: now.get(name) for name in {**was, **now} if was.get(name) != now.get(name) and name in KNOWN}
    made.changed_settings = {
        name: None if value is None else _as_stored(KNOWN[name], value)
        for name, value in changed.items()
        if not _refusal(name)
    }


def _refusal(name: str) -> str:
    """Return why a setting can't be adopted from the file; empty where the panel sets it."""
    if name in KNOWN:
        return _("give the file itself, on the settings page") if KNOWN[name].type == Type.FILE else ""
    reason = reason_for(name) or _("the panel does not know this setting")
    if reason == str(BY_THE_PANEL):
        return _("%(reason)s: change it there") % {"reason": reason}
    return _("%(reason)s: write it above the panel's mark") % {"reason": reason}


def _as_stored(setting: Setting, value: str) -> str:
    """Return the value in the panel's form: 0 or 1, and whole numbers in the setting's own unit."""
    if setting.type == Type.BOOLEAN:
        return {"on": "1", "off": "0"}.get(verify.truth(value), value)
    number = verify.quantity(value, setting.unit) if setting.type == Type.NUMBER else value
    return f"{number:.0f}" if isinstance(number, float) and number.is_integer() else value


def _adopt_rules(made: Adoption, before: str, after: str, offset: int) -> None:
    own, _mark, uploaded = before.partition(render.GIVEN_RULES)
    panels = {line for _, line in _lines(own, 0)}
    lines = _lines(after, offset)
    added = [(number, line) for number, line in lines if line not in panels]
    last = max((number for number, line in lines if line in panels), default=0)
    for number, _line in added:
        if number < last:
            made.refuse(
                HBA,
                number,
                _("the panel's rules come before given ones: move it below them, or write it above the panel's mark"),
            )
    _adopt_missing(made, hba_access.read(own), panels - {line for _, line in lines}, [line for _, line in added])
    if [line for _, line in added] == [line for _, line in _lines(uploaded, 0)]:
        return
    if added:
        made.given[RULES] = "".join(f"{line}\n" for _, line in added)
    else:
        made.refuse(HBA, 0, _("the given rules were removed: remove the file on the settings page"))


def _adopt_missing(made: Adoption, accesses: list[hba_access.Access], missing: set[str], added: list[str]) -> None:
    """Rules of the panel that are gone: a pool without any is asked to leave."""
    for one in accesses:
        if one.by_operator:
            continue
        rules = {line for _, line in _lines(one.lines(), 0)}
        gone = rules & missing
        missing = missing - rules
        if gone == rules and not any(hba_access.quoted(one.database) in line for line in added):
            made.gone.add(one.pool)
        elif gone:
            made.refuse(
                HBA,
                0,
                _("the rules of database %(database)s were changed: change its pool") % {"database": one.database},
            )
    if missing:
        made.refuse(HBA, 0, _("the rules that admit the panel itself were changed, and it needs them"))


def _adopt_passwords(made: Adoption, before: str, after: str, _offset: int) -> None:
    was, now = render.users_in(before), render.users_in(after)
    for user in sorted(was.keys() | now.keys()):
        if user not in was:
            made.refuse(
                PASSWD, 0, _("user %(user)s is not the panel's: write it above the panel's mark") % {"user": user}
            )
        elif user not in now:
            made.refuse(PASSWD, 0, _("user %(user)s was removed, and the pools need it") % {"user": user})
        elif not now[user]:
            made.refuse(
                PASSWD, 0, _("the password of %(user)s can't be read back: write it as %(user)s:TEXT…") % {"user": user}
            )
        elif now[user] != was[user]:
            made.passwords[user] = now[user]


def _refuse_logins(made: Adoption, _before: str, _after: str, _offset: int) -> None:
    made.refuse(PCP, 0, _("it has the panel's own login at the PCP port: write one of your own above the panel's mark"))


PARTS: dict[str, Callable[[Adoption, str, str, int], None]] = {
    MAIN: _adopt_settings,
    HBA: _adopt_rules,
    PASSWD: _adopt_passwords,
    PCP: _refuse_logins,
}


def _lines(text: str, offset: int) -> Lines:
    """List the lines that are neither empty nor comments, numbered from the line after `offset`."""
    return list(_numbered(text, offset))


def _numbered(text: str, offset: int) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), start=offset + 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line.strip()


BY_THE_PANEL = gettext_lazy("the panel writes it from the cluster and its nodes")
OPERATOR = gettext_lazy("it depends on the host of the program: it stays in the operator's part of pgpool.conf")
SECRET = gettext_lazy("passwords stay out of pgpool.conf: it reads pool_passwd, which the panel writes")
COMMAND = gettext_lazy("it runs a command on the pooler's host: only those who may log in there set it")
WATCHDOG = gettext_lazy("the watchdog connects several Pgpool-IIs: it is set up on their hosts")
ALL_ALIKE = gettext_lazy("the setting without a number is for all backends")
OLD = gettext_lazy("it is an older name of backend_clustering_mode")
TEST = gettext_lazy("it is for the program's own tests")

PER_BACKEND = re.compile(r"health_check_(period|timeout|database|max_retries|retry_delay)|connect_timeout")
REASONS: tuple[tuple[str, str | Promise], ...] = (
    (r"backend_(hostname|port|application_name)", BY_THE_PANEL),
    (r"enable_pool_hba|health_check_user|sr_check_user", BY_THE_PANEL),
    (r"(pcp_)?listen_addresses|(pcp_)?port|(pcp_)?socket_dir|unix_socket_(directories|group|permissions)", OPERATOR),
    (r"pid_file_name|logdir|work_dir|pool_passwd|backend_data_directory|ssl_ca_cert_dir|log_file_mode", OPERATOR),
    (r"recovery_(user|database)", OPERATOR),
    (r"(health_check|sr_check|recovery)_password", SECRET),
    (r"(failover|failback|follow_primary|recovery_[12]\w+_stage|ssl_passphrase|trusted_server)_command", COMMAND),
    (r"(wd|heartbeat|other_pgpool|delegate|if|arping)_\w+|hostname|pgpool_port|use_watchdog|trusted_servers", WATCHDOG),
    (r"ping_path|clear_memqcache_on_escalation|failover_when_quorum_exists|failover_require_consensus", WATCHDOG),
    (r"allow_multiple_failover_requests_from_node|enable_consensus_with_half_votes", WATCHDOG),
    (r"replication_mode", OLD),
    (r"health_check_test", TEST),
)


def reason_for(name: str) -> str:
    """Return why the panel doesn't write this setting (`backend_port1` as `backend_port`); empty where unknown."""
    plain = name.rstrip("0123456789")
    if plain != name and PER_BACKEND.fullmatch(plain):
        return str(ALL_ALIKE)
    return next((str(why) for pattern, why in REASONS if re.fullmatch(pattern, plain, re.IGNORECASE)), "")

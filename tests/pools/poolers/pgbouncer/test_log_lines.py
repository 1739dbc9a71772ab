"""Lines of PgBouncer's log as real programs wrote them (1.18.0, 1.24.1 and 1.26.1), and the messages of its sources."""

from pathlib import Path

import pytest

from pools.diagnosis import log_reasons
from pools.diagnosis.log_reasons import Filters
from pools.poolers.pgbouncer import log_lines
from pools.poolers.pgbouncer.log_messages import KNOWN
from pools.poolers.pgbouncer.settings_catalog import CATALOG
from pools.poolers.pooler_log import About, LogLine

LOGS = Path(__file__).parent / "logs"
RELEASES = sorted(path.stem for path in LOGS.glob("*.log"))
HEAD = "2026-11-28 22:33:46.113 UTC [812] WARNING "
CLIENT = "C-0x55e272c9d9e0: shop/app@10.0.0.7:51044 "


def lines_of(release: str) -> list[LogLine]:
    return list(log_lines.parse((LOGS / f"{release}.log").read_text()))


def one(text: str) -> LogLine:
    (line,) = log_lines.parse(f"{HEAD}{text}\n")
    return line


@pytest.mark.parametrize("release", RELEASES)
def test_each_line_of_a_real_log_is_read(release: str) -> None:
    assert len(lines_of(release)) == len((LOGS / f"{release}.log").read_text().splitlines())
    unknown = [line.text for line in lines_of(release) if line.known is None]
    assert [text for text in unknown if not text.startswith(("DISABLE", "ENABLE", "client connections dropped"))] == []


@pytest.mark.parametrize("release", RELEASES)
def test_the_staged_faults_of_a_real_log_are_counted_once_each(release: str) -> None:
    """Each fault was caused by hand, some twice: by the wire protocol itself and by libpq."""
    found = {(one.known.reason, one.detail): one.count for one in log_reasons.of_lines(lines_of(release))}
    assert found["no_such_database", "nope"] == 2
    assert found["password_failed", ""] == 3
    assert found["no_such_user", "nobodyx"] == 1
    assert found["unsupported_startup_parameter", "extra_float_digits"] == 1 + (release != "1.18.0")
    assert found["max_client_conn", ""] == 2
    assert found["disabled", "shop"] == 2
    assert found["query_wait_timeout", ""] == 3
    assert found["dns", "nowhere.invalid"] == 1
    assert found["configuration_error", ""] >= 2
    assert found.get(("bad_packet", "")) == (1 if release == "1.18.0" else None)  # later ones close without a word
    assert ("connect_failed", "") in found


@pytest.mark.parametrize("release", RELEASES)
def test_sqlstates_are_those_that_clients_got(release: str) -> None:
    (found,) = log_reasons.by_sqlstate(lines_of(release))
    assert (found.code, found.count) == ("08P01", sum("pooler error: " in line.text for line in lines_of(release)))


def test_a_line_has_its_parts() -> None:
    line = one(f"{CLIENT}pooler error: unsupported startup parameter: extra_float_digits")
    assert (line.at, line.pid, line.level) == ("2026-11-28 22:33:46.113 UTC", 812, "WARNING")
    assert (line.database, line.user, line.address, line.socket) == (
        "shop",
        "app",
        "10.0.0.7:51044",
        "C-0x55e272c9d9e0",
    )
    assert (line.known.reason, line.detail, line.known.setting) == (
        "unsupported_startup_parameter",
        "extra_float_digits",
        "ignore_startup_parameters",
    )


@pytest.mark.parametrize(
    ("who", "database", "user"),
    [
        ("(nodb)/(nouser)@127.0.0.1:1", "", ""),
        ("shop/a b@[::1]:1", "shop", "a b"),
        ("shop/ada@corp@unix(7):6432", "shop", "ada@corp"),
    ],
)
def test_names_with_unusual_signs(who: str, database: str, user: str) -> None:
    line = one(f"C-0x1: {who} login attempt: db=shop user=app tls=no")
    assert (line.database, line.user) == (database, user)


# by the format strings of the sources, for those that no staged fault has written
OTHERS = {
    "login_rejected": "pooler error: unix socket login rejected",
    "tls_required": "closing because: SSL required (age=0s)",
    "tls_handshake": "TLS handshake error: handshake failed: error:1417D18C",
    "certificate_failed": "pooler error: certificate authentication failed",
    "client_login_timeout": "closing because: client_login_timeout (server down) (age=60s)",
    "wrong_password_type": "closing because: cannot do SCRAM authentication: wrong password type (age=0s)",
    "client_connections": "pooler error: client connections exceeded (max_user_client_connections)",
    "file_descriptors": "accept() failed: Too many open files",
    "query_timeout": "closing because: query timeout (age=9s)",
    "idle_transaction_timeout": "closing because: idle transaction timeout (age=9s)",
    "transaction_timeout": "closing because: transaction timeout (age=9s)",
    "client_idle_timeout": "pooler error: client_idle_timeout",
    "server_login_retry": "pooler error: server login has been failing, cached error: no (server_login_retry)",
    "server_login_failed": "server login failed: FATAL sorry, too many clients already",
    "server_crashed": "closing because: server conn crashed? (age=9s)",
    "reset_failed": "closing because: reset query failed (age=9s)",
    "auth_query_failed": "pooler error: error response from auth_query",
    "unclean_server": "closing because: unclean server (age=9s)",
    "client_gone": "closing because: client unexpected eof (age=9s)",
    "prepared_statement": "pooler error: prepared statement did not exist",
    "shutting_down": "pooler error: pooler is shutting down",
    "broken_auth_file": "broken auth file",
    "hba_error": "hba line 3: unknown type",
    "killed": "pooler error: admin forced disconnect",
    "reloaded": "closing because: database configuration changed (age=9s)",
    "recycled": "closing because: server lifetime over (age=3600s)",
    "stats": "stats: 0 xacts/s, 0 queries/s",
}


@pytest.mark.parametrize(("reason", "text"), OTHERS.items())
def test_a_message_of_the_sources_is_known(reason: str, text: str) -> None:
    line = one(f"{CLIENT}{text}")
    assert line.known is not None
    assert line.known.reason == reason


def test_every_message_is_seen_in_a_log_or_in_the_sources_and_leads_to_a_setting_that_there_is() -> None:
    seen = {line.known.reason for release in RELEASES for line in lines_of(release) if line.known} | OTHERS.keys()
    assert {known.reason for known in KNOWN} == seen
    assert sum(known.about != About.ROUTINE for known in KNOWN) >= 30
    settings = {setting.name for setting in CATALOG}
    assert {known.setting for known in KNOWN} - {""} <= settings


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('server login failed: FATAL password authentication failed for user "app"', "28P01"),
        ("server login failed: FATAL sorry, too many clients already", "53300"),
        ("server login failed: FATAL the database system is starting up", "57P03"),
        ("server login failed: FATAL of a reason that nobody knows", ""),
        ("closing because: client close request (age=0s)", ""),
    ],
)
def test_what_the_server_refused_has_the_servers_sqlstate(text: str, code: str) -> None:
    assert one(f"S-0x1: shop/app@10.0.0.9:5432 {text}").sqlstate == code


def test_only_what_pgbouncer_wrote_is_shown() -> None:
    """Whatever file the setting names: a key, a configuration or the log of another program."""
    text = "POOLDECK_KEYS=secret\n2026-11-28 secret\n[812] LOG secret\n2026-11-28 22:33:46 UTC LOG: secret\n"
    assert list(log_lines.parse(text)) == []


def test_secrets_are_dots_and_long_messages_are_cut() -> None:
    line = one('invalid value "x" for parameter password=hunter2 in configuration (a.ini:3)')
    assert "hunter2" not in line.text
    assert len(one("x" * 5000).text) == log_lines.LONGEST


def test_filters() -> None:
    lines = [*lines_of("1.26.1")]
    assert {line.level for line in lines if Filters(level="ERROR").let_through(line)} == {"ERROR"}
    assert {line.database for line in lines if Filters(database="shop").let_through(line)} == {"shop"}
    assert all("NOPE" in line.text.upper() for line in lines if Filters(words="Nope").let_through(line))
    found = [line for line in lines if Filters(reason="max_client_conn").let_through(line)]
    assert {line.known.reason for line in found} == {"max_client_conn"}
    assert [line for line in lines if Filters(user="nobody-there").let_through(line)] == []


REFUSED = """\
2026-11-29 12:33:58.201 UTC [7] LOG stats: 0 xacts/s, 0 queries/s
2026-11-29 12:33:58.527 UTC [7] WARNING server login failed: FATAL password authentication failed for user "app"
2026-11-29 12:33:58.527 UTC [7] LOG S-0x5607a490fed0: web/app@127.0.0.1:25399 closing because: login failed (age=0s)
2026-11-29 12:33:59.209 UTC [7] WARNING server login failed: FATAL database "old" does not exist
2026-11-29 12:33:59.209 UTC [7] WARNING C-0x55556: old/app@127.0.0.1:4 pooler error: database "old" does not exist
"""


@pytest.mark.parametrize(
    ("database", "said"),
    [
        ("web", 'password authentication failed for user "app"'),
        ("old", 'database "old" does not exist'),
        ("other", None),
    ],
)
def test_the_last_refusal_of_a_server_is_that_of_its_database(database: str, said: str | None) -> None:
    found = log_reasons.last_server_refusal(list(log_lines.parse(REFUSED)), database)
    assert (found.detail if found else None) == said
    later = f"{REFUSED}2026-11-29 12:36:30.000 UTC [7] LOG stats: 0 xacts/s, 0 queries/s\n"
    assert log_reasons.last_server_refusal(list(log_lines.parse(later)), database) is None


def test_what_a_server_says_is_no_failure_of_the_client() -> None:
    relayed = one(f'{CLIENT}pooler error: password authentication failed for user "app"')
    assert (relayed.known.reason, one(f"{CLIENT}pooler error: password authentication failed").known.reason) == (
        "server_login_failed",
        "password_failed",
    )

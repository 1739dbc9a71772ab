"""No secret of a whole journey, crashes included, gets anywhere but where it has to be; a planted one is found.

Each test looks into one kind of place. It then puts a secret there itself and has to find it: a search that sees
nothing would pass for a place without leaks.
"""

import base64
import hashlib
import smtplib
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.live.panel.canary import places
from tests.live.panel.canary.conftest import PLANTED, Walked
from tests.live.panel.canary.panel import answers, pages
from tests.live.panel.canary.places import Piece
from tests.postgresqls import verifier
from tests.programs import below

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # an installation, its crashes, and all that it answers
# what somebody wrote into a script stands where scripts and their runs do, for those who may read them
OF_AUTHORS = {"literal"}
# Files that have to hold secrets in the clear: of the demo's start, of the keys, and of the poolers themselves; and the
# data of the demo's PostgreSQL, which is the journey's target and knows its roles.
IN_CLEAR = ("installation.json", "quickstart.json", "keys", "secret_key", "redis/redis.conf")
IN_CLEAR += ("pgbouncer/config", "pgpool/config", "postgres/cluster")
# A server that logs all statements logs the verifier that it is given for a role, and never the password.
IN_LOG_OF_TARGET = {"literal", "verifier of generated role", "verifier of reset role"}
OWN_ROLES = {"verifier of metadata", "verifier of metadata superuser"}
# Programs of the panel get these variables from whoever starts them, and so do the commands by which the shell script
# script/up makes sure that what it needs is installed; no other program does.
TOLD = {
    b"DATABASE_URL": {"metadata"},
    b"REDIS_URL": {"redis"},
    b"POOLDECK_WEBHOOK_URL": {"webhook address"},
    b"POOLDECK_WEBHOOK_SECRET": {"webhook secret"},
    b"POOLDECK_EMAIL_PASSWORD": {"mail"},
}
OF_PANEL = ("panel", "celery", "script/up", "manage.py", "django")
COPIED_BY = "pg_dump --dbname pooldeck"  # logs in to the metadata database with PGPASSWORD


def leaks(walked: Walked, pieces: Iterable[Piece], allowed: Iterable[str] = ()) -> dict[str, set[str]]:
    """Place → what was found there, of those with something; at least one piece has to have been read."""
    found, read = {}, 0
    for where, text in pieces:
        read += 1
        if names := walked.journey.secrets.found_in(text) - set(allowed):
            found[where] = names
    assert read, "nothing was looked at"
    print(f"{read} pieces were looked at")
    return found


def is_seen(found: dict[str, set[str]]) -> bool:
    """Tell whether the planted secret was found, and no other one."""
    return bool(found) and set().union(*found.values()) == {PLANTED}


def lines(text: bytes) -> list[Piece]:
    return [(f"line {number}", line) for number, line in enumerate(text.split(b"\n"), 1)]


def test_metadata(walked: Walked) -> None:
    def found() -> dict[str, set[str]]:
        return leaks(walked, lines(places.dump(walked.journey.metadata, "pooldeck", walked.folder)), OF_AUTHORS)

    assert found() == {}
    with walked.journey.metadata.connect("pooldeck") as session:
        session.execute("CREATE TABLE planted AS SELECT %s::text AS word", [walked.planted])
        assert is_seen(found())
        session.execute("DROP TABLE planted")


def test_data_files_write_ahead_log_and_statements_of_metadata(walked: Walked) -> None:
    """All that the panel ever sent: the server logged each statement with its parameters."""
    folder = walked.folder / "metadata"
    log = (folder / "postgres.log").read_bytes()
    assert log.count(b"INSERT INTO") > 100
    assert leaks(walked, places.files(folder), OF_AUTHORS | OWN_ROLES | {PLANTED}) == {}
    with walked.journey.metadata.connect() as session:
        session.execute("SELECT %s::text", [walked.planted])
    assert is_seen(leaks(walked, lines((folder / "postgres.log").read_bytes()[len(log) :]), OF_AUTHORS))


def test_trail(walked: Walked) -> None:
    with walked.journey.metadata.connect("pooldeck") as session:
        rows = [repr(row).encode() for row in session.execute("SELECT to_jsonb(one) FROM audit_entry AS one")]
    assert len(rows) > 20
    assert leaks(walked, ((f"entry {number}", row) for number, row in enumerate(rows)), OF_AUTHORS) == {}
    assert is_seen(leaks(walked, [("entry", repr(({"after": {"host": walked.planted}},)).encode())]))


def test_redis(walked: Walked) -> None:
    assert sum(b"celery" in command or b"task" in command for command in walked.redis.seen) > 10
    assert leaks(walked, walked.redis.pieces()) == {}
    walked.redis.client.rpush("planted", walked.planted)
    assert is_seen(leaks(walked, walked.redis.pieces()))


def test_files_logs_and_temporary_folders(walked: Walked) -> None:
    home, temporary = walked.folder / "home", walked.folder / "tmp"
    log = str(home / "log" / "postgres.log")
    found = leaks(walked, places.files(home, temporary, without=IN_CLEAR))
    assert found.pop(log, set()) <= IN_LOG_OF_TARGET
    assert found == {}
    for folder in (home / "log", temporary):
        (folder / "planted").write_text(f"password={walked.planted}")
        assert is_seen(leaks(walked, places.files(folder, without=("postgres.log",))))


def test_what_commands_print(walked: Walked) -> None:
    printed = [*walked.journey.printed, ("script/up", "".join(walked.journey.installation.lines).encode())]
    assert [name for name, _ in printed] == ["backup", "verify_audit", "doctor", "script/up"]
    assert leaks(walked, printed) == {}
    assert is_seen(leaks(walked, [("script/up", walked.planted.encode())]))


def test_crashes_leave_no_memory_behind(walked: Walked) -> None:
    """The kernel's name for a dump is a folder of the checkout, so that their limit is looked at too."""
    running = below(walked.journey.installation.process.pid)
    limits = [line.split() for pid in running for line in Path(f"/proc/{pid}/limits").read_text().splitlines()]
    assert {line[4] for line in limits if line[:4] == ["Max", "core", "file", "size"]} == {"0"}
    assert list(walked.folder.rglob("core*")) == []


def test_command_lines(walked: Walked) -> None:
    def found() -> dict[str, set[str]]:
        return leaks(walked, ((line, b"\n".join(words)) for line, words in walked.processes.pieces("cmdline")))

    assert found() == {}
    subprocess.run([sys.executable, "-c", "import time; time.sleep(0.5)", walked.planted], env={}, check=True)
    assert is_seen(found())


def test_environments(walked: Walked) -> None:
    def found() -> dict[str, set[str]]:
        leaking: dict[str, set[str]] = {}
        for line, variables in walked.processes.pieces("environ"):
            for variable in variables:
                name = variable.partition(b"=")[0]
                if names := walked.journey.secrets.found_in(variable) - may_hold(line, name):
                    leaking[f"{line}: {name.decode()}"] = names
        return leaking

    leaking = found()
    assert leaking == {}, "\n".join(leaking)
    words = [sys.executable, "-c", "import time; time.sleep(0.5)"]
    subprocess.run(words, env={"POOLDECK_WEBHOOK_SECRET": walked.planted}, check=True)
    assert is_seen(found())


def may_hold(line: str, variable: bytes) -> set[str]:
    """What a variable of the process with this command line may have."""
    if COPIED_BY in line and variable == b"PGPASSWORD":
        return {"metadata"}
    return TOLD.get(variable, set()) if any(word in line for word in OF_PANEL) else set()


def test_error_pages_and_refusals(walked: Walked) -> None:
    errors = walked.journey.errors
    assert {where.split()[0] for where, _ in errors} >= {"400", "401", "503"}
    assert leaks(walked, errors) == {}
    body = f'{{"unknown_field": 1, "name": "{walked.planted}"}}'.encode()
    assert is_seen(leaks(walked, [("400", body)]))


def test_e_mails(walked: Walked) -> None:
    mail = walked.journey.mail
    invited = [letter for letter in places.letters(mail) if b"To: ann@example.org" in letter[1]]
    assert list(leaks(walked, invited).values()) == [{"invitation"}]  # whom it is for
    assert leaks(walked, (letter for letter in places.letters(mail) if letter not in invited)) == {}
    with smtplib.SMTP("127.0.0.1", mail.server_address[1]) as client:
        client.sendmail("a@example.org", "b@example.org", f"Subject: x\n\n{walked.planted}".encode())
    assert is_seen(leaks(walked, places.letters(mail), {"invitation"}))


def test_webhooks(walked: Walked) -> None:
    """Headers and body: the address is known to both sides."""
    got = walked.journey.webhook.got
    assert leaks(walked, got) == {}
    assert is_seen(leaks(walked, [("/", got[0][1] + walked.planted.encode())]))


def test_pages(walked: Walked) -> None:
    browser = walked.journey.browser
    found = list(pages(browser))
    assert len(found) > 100
    assert leaks(walked, found, OF_AUTHORS) == {}
    assert is_seen(leaks(walked, [("/", browser.send_form("/clusters/new/", name="", host=walked.planted)[2])]))


def test_answers_exports_and_reports(walked: Walked) -> None:
    found = list(answers(walked.journey.program))
    addresses = {where for where, _ in found}
    for part in ("/export/?as=csv", "/export/?as=html", "/report/?as=pdf", "/api/v1/runs/", "/events/"):
        assert any(part in one for one in addresses), part
    assert leaks(walked, found, OF_AUTHORS) == {}
    walked.journey.api.post("scripts/", {"name": "planted", "text": "SELECT 1;", "description": walked.planted})
    assert is_seen(leaks(walked, [("/", walked.journey.program.ask("/api/v1/scripts/")[2])], OF_AUTHORS))


def test_backup(walked: Walked) -> None:
    (copy,) = (walked.folder / "backup").glob("*.dump")
    text = places.restored(walked.journey.metadata, copy)
    assert len(text) > 100_000
    assert leaks(walked, lines(text), OF_AUTHORS) == {}
    assert is_seen(leaks(walked, lines(text + walked.planted.encode()), OF_AUTHORS))


@pytest.mark.parametrize("form", range(3))
def test_every_form_is_seen(walked: Walked, form: int) -> None:
    """In base64 at each place where it may begin, in hex, in URLs, and as what a password can be tried on."""
    secrets, word = walked.journey.secrets, walked.planted
    texts = [base64.b64encode(b"x" * form + word.encode() + b"y" * form), word.encode().hex().encode()]
    digest = hashlib.md5((word + "app").encode(), usedforsecurity=False).hexdigest()
    texts += [quote(word, safe="").encode(), f"md5{digest}".encode()]
    assert [secrets.found_in(b"before " + text + b" after") for text in texts] == [{PLANTED}] * 4
    assert secrets.found_in(verifier(word, 4096).encode()) == {f"verifier of {PLANTED}"}
    assert secrets.found_in(verifier("another", 4096).encode()) == set()

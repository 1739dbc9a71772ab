"""The whole way through an installation with secrets at each step, and what breaks on that way."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from cryptography.fernet import Fernet, MultiFernet
from psycopg import sql

from panel.quickstart.servers import PostgresServer
from tests.installation import ROOT, Installation, Refused
from tests.live.panel.canary.panel import Answer, Reader
from tests.live.panel.canary.places import MailServer, Webhook
from tests.live.panel.canary.secrets import Secrets
from tests.programs import below, heads

ENDED = {"succeeded", "failed", "cancelled", "lost", "timed_out"}
SETTLED = {"applied", "failed", "rolled_back", "failing"}
ROLES = ("app", "typed", "boss", "made", "reset", "outside")


class Journey:
    """What a DBA does within a few minutes; each step may be the one that a secret gets away in."""

    def __init__(
        self,
        installation: Installation,
        metadata: PostgresServer,
        secrets: Secrets,
        folder: Path,
        webhook: Webhook,
        mail: MailServer,
    ) -> None:
        self.installation, self.metadata, self.secrets, self.folder = installation, metadata, secrets, folder
        self.webhook, self.mail = webhook, mail
        self.api = installation.api
        self.browser = Reader(installation)
        self.program = Reader(installation, self.api.token)
        self.errors: list[tuple[str, bytes]] = []  # pages and answers of what failed on the way
        self.ids: dict[str, str] = {}
        self.printed: list[tuple[str, bytes]] = []  # what commands printed
        self.target = self._server_of_the_demo()

    def _server_of_the_demo(self) -> PostgresServer:
        kept = json.loads((self.installation.home / "installation.json").read_text())
        return PostgresServer(
            self.installation.home / "postgres", kept["ports"]["postgres"], password=kept["passwords"]["postgres"]
        )

    def walk(self) -> None:
        """Go all of it."""
        for step in (
            self.log_all_statements,
            self.log_in,
            self.register,
            self.make_roles_and_pools,
            self.reveal,
            self.fail_forms,
            self.keep_a_host_and_an_endpoint,
            self.run_a_script,
            self.begin_an_experiment,
            self.change_the_account,
            self.make_tokens,
            self.invite,
            self.kill_the_worker_in_an_apply,
            self.crash_with_a_core,
            self.kill_the_web_in_a_request,
            self.break_the_database,
            self.run_with_a_wrong_password,
            self.tell_of_it,
            self.back_up,
        ):
            begun = time.monotonic()
            step()
            print(f"{time.monotonic() - begun:6.1f} s {step.__name__}")

    def log_all_statements(self) -> None:
        """Let both servers write down each statement with its parameters, as many operators do."""
        for server in (self.metadata, self.target):
            with server.connect() as session:
                for name, value in (("log_statement", "all"), ("log_min_error_statement", "debug1")):
                    session.execute(sql.SQL("ALTER SYSTEM SET {} = {}").format(sql.Identifier(name), value))
                session.execute("SELECT pg_reload_conf()")

    def log_in(self) -> None:
        """First with a wrong password, then with the right one."""
        for password in (self.secrets.choose("wrong login"), self.installation.quickstart["password"]):
            self.note(self.browser.send_form("/login/", username="admin", password=password))
        assert self.browser.ask("/tokens/")[0] == 200

    def note(self, answer: Answer) -> Answer:
        """Keep an answer that is an error, unless it repeats to somebody what they typed into a form."""
        if answer[0] >= 400 and answer[0] != 422:
            self.errors.append((f"{answer[0]} {answer[1]}", answer[2]))
        return answer

    def register(self) -> None:
        """A second login to the demo's server: once with a password that it refuses, then with its own."""
        password = self.secrets.choose("second superuser")
        self.make_role("boss", password, "SUPERUSER")
        where = {"host": "127.0.0.1", "port": self.target.port, "sslmode": "disable", "admin_user": "boss"}
        wrong = self.secrets.choose("refused superuser")
        self.api.post("clusters/", where | {"name": "refused", "admin_password": wrong, "protected": False})
        made = self.api.post("clusters/", where | {"name": "second", "admin_password": password, "protected": False})
        assert made["status"]["state"] == "online", made
        (demo,) = self.api.get("clusters/?search=demo")["results"]
        poolers = {one["kind"]: one["id"] for one in self.api.get("poolers/")["results"]}
        self.ids |= {"second": made["id"], "cluster": demo["id"], **poolers}
        where = {"kind": "pgbouncer", "host": "127.0.0.1", "port": 1, "admin_user": "stats"}
        self.api.post("poolers/", where | {"name": "away", "admin_password": self.secrets.choose("console of another")})

    def make_role(self, name: str, password: str, *more: str) -> None:
        """As its operator does, who keeps the statement out of the server's log."""
        words = sql.SQL(" ").join(map(sql.SQL, more))  # type: ignore[arg-type]
        with self.target.connect() as session:
            session.execute("SET log_statement = 'none'")
            command = sql.SQL("CREATE ROLE {} LOGIN {} PASSWORD {}")
            session.execute(command.format(sql.Identifier(name), words, password))

    def make_roles_and_pools(self) -> None:
        """One with a typed password and one with a generated one, each with its pool."""
        typed = self.secrets.choose("typed role", is_plain=True)
        self.make_role("typed", typed)
        made = self.api.post(f"clusters/{self.ids['cluster']}/users/", {"name": "made", "database": "app"})
        self.secrets.add("generated role", made["password"])
        self.api.post(f"clusters/{self.ids['cluster']}/users/", {"name": "reset"})
        again = self.api.post(f"clusters/{self.ids['cluster']}/users/reset/reset-password/")
        self.secrets.add("reset role", again["password"])
        for user, more in (("typed", {"user_password": typed}), ("made", {})):
            pool = {"pooler": self.ids["pgbouncer"], "cluster": self.ids["cluster"], "database": "app", "size": 2}
            asked = self.api.post("pools/", pool | {"name": f"of-{user}", "user": user, "mode": "session", **more})
            self.ids[user] = asked["id"]
            found = self.api.wait(f"pools/{asked['id']}/", "state", SETTLED, 60)
            assert found["state"] == "applied", found

    def reveal(self) -> None:
        """By page and by API; that they hold the password shows that the journey has reached it."""
        told = self.api.get(f"pools/{self.ids['typed']}/connection/?as=uri&reveal=1")["text"]
        assert self.secrets.found_in(told.encode()) == {"typed role"}
        shown = self.browser.send_form(f"/pools/{self.ids['made']}/connection/", **{"as": "uri"})
        assert self.secrets.found_in(shown[2]) == {"generated role"}, shown[2][:300]

    def fail_forms(self) -> None:
        """Bodies with secrets that are refused: not JSON, of another type, with a name that there is not."""
        typed = self.secrets.choose("in a refused body")
        for body in (
            {"name": "x", "admin_password": {"a": typed}},
            {"name": "x", "admin_pasword": typed, "port": "x"},
            {"name": "x", "host": "a", "port": 99999, "admin_user": "u", "admin_password": typed},
        ):
            for path in ("clusters", "poolers", "pools", "external-endpoints"):
                self.note(self.program.send(f"/api/v1/{path}/", body))
        self.note(self.program.ask("/api/v1/clusters/", b'{"admin_password": ' + typed.encode(), "application/json"))
        pasted = f"postgresql://app:{self.secrets.choose('in a URI', is_plain=True)}@127.0.0.1:1/app"
        self.note(self.program.send("/api/v1/external-endpoints/", {"name": "e", "uri": pasted + "?sslmode=never"}))
        self.note(self.browser.send_form("/clusters/new/", name="", host="", admin_user="x", admin_password=typed))

    def keep_a_host_and_an_endpoint(self) -> None:
        """A host with a key of its own that is not there, and a server elsewhere with two passwords."""
        host = {"name": "host", "address": "127.0.0.1", "port": 1, "user": "nobody"}
        self.ids["host"] = self.api.post("hosts/", host)["id"]
        with suppress(Refused):
            self.api.post(f"hosts/{self.ids['host']}/check/")
        with self.metadata.connect("pooldeck") as session:
            ((sealed,),) = session.execute("SELECT sealed_private_key FROM pools_host").fetchall()
        kept = (self.installation.home / "keys").read_text().strip()
        keys = MultiFernet([Fernet(one) for one in kept.split(",")])
        self.secrets.add("key of a host", json.loads(keys.decrypt(sealed))[1].splitlines()[3])
        password = self.secrets.choose("endpoint", is_plain=True)
        self.make_role("outside", password)
        uri = f"postgresql://outside:{password}@127.0.0.1:{self.target.port}/app?sslmode=disable"
        console = self.secrets.choose("endpoint's console")
        asked = {"name": "elsewhere", "uri": uri}
        refused = asked | {"console_user": "c", "console_password": console}
        self.note(self.program.send("/api/v1/external-endpoints/", refused))
        self.ids["endpoint"] = self.api.post("external-endpoints/", asked)["id"]

    def run_a_script(self) -> None:
        """A script with a literal of its author's, through a pool, directly, and one that its server refuses."""
        literal = self.secrets.choose("literal", is_plain=True)
        text = f"\\set n random(1, 10)\nSELECT :n, length('{literal}');\n"
        wrong = f"\\set n 1\nSELECT :n FROM no_such_table WHERE word = '{literal}';\n"
        self.api.post("scripts/", {"name": "own", "text": text})
        options = {"duration": 1, "clients": 1, "percentiles": True}
        targets: list[dict[str, Any]] = [
            {"pool": self.ids["typed"]},
            {"cluster": self.ids["cluster"], "database": "app", "user": "app"},
        ]
        for target, script in ((targets[0], text), (targets[1], text), (targets[0], wrong)):
            body = {"target": target, "engine": "pgbench", "options": options | {"scripts": [{"text": script}]}}
            run = self.asked_run(body)
            print(run["status"], run["error"][:200])

    def asked_run(self, body: dict[str, Any]) -> Any:
        """Start a run and wait for its end."""
        asked = self.api.post("runs/", body)
        return self.api.wait(f"runs/{asked['id']}/", "status", ENDED, 90)

    def begin_an_experiment(self) -> None:
        """One of a single arm through PgBouncer, which makes and removes a pool of its own."""
        form = {"repeats": 1, "options": {"duration": 1, "warm_up": None}, "dataset": {"scale": 1}}
        asked = {
            "playbook": "reconnect",
            "cluster": self.ids["cluster"],
            "arms": ["10-scram-none", "10-scram-pgbouncer"],
        }
        self.ids["experiment"] = self.api.post("experiments/", asked | form)["id"]

    def change_the_account(self) -> None:
        """Set an app, then another password, once with a mistake."""
        page = self.browser.ask("/account/app/add/")[2]
        found = re.search(r"\b[A-Z2-7]{32}\b", page.decode())
        assert found, page
        secret = self.secrets.add("secret of an app", found[0])
        code = format_hotp_value(hotp_value(secret, int(time.time()) // 30))
        self.browser.send_form("/account/app/add/", page, code=code)
        codes = re.findall(r"\b\d{8}\b", self.browser.ask("/account/recovery-codes/")[2].decode())
        assert len(codes) == 10, codes
        self.secrets.add("recovery codes", "\n".join(codes))
        old, new = self.installation.quickstart["password"], self.secrets.choose("own password")
        for first, second in ((self.secrets.choose("wrong own password"), new), (old, new)):
            values = {"old_password": first, "new_password1": second, "new_password2": second}
            status = self.note(self.browser.send_form("/account/password/", **values))[0]
        assert status == 200

    def make_tokens(self) -> None:
        """By API."""
        made = self.api.post("tokens/", {"name": "ci", "scopes": ["read"]})
        self.secrets.add("token", made["token"], is_stored_hashed=True)
        (team,) = self.api.get("teams/")["results"]
        made = self.api.post("tokens/", {"name": "of team", "scopes": ["read"], "team": team["id"], "role": "viewer"})
        self.secrets.add("token of a team", made["token"], is_stored_hashed=True)
        wrong = self.secrets.choose("wrong token", is_plain=True)
        self.note(Reader(self.installation, f"pd_{wrong}").ask("/api/v1/pools/"))

    def invite(self) -> None:
        """By a link in a letter, which is opened and used up."""
        (team,) = self.api.get("teams/")["results"]
        asked = {"team": team["id"], "role": "viewer", "email": "ann@example.org"}
        link = self.api.post("invitations/", asked)["link"]
        self.secrets.add("invitation", link.partition("token=")[2], is_stored_hashed=True)
        path = link.removeprefix(self.installation.url)
        password = self.secrets.choose("password of the invited")
        stranger = Reader(self.installation)
        _, _, page = stranger.ask(path)
        stranger.send_form(path, page, username="ann", password1=password, password2=password)
        assert stranger.ask("/account/")[1].endswith("/account/"), "the invited person is not signed in"
        self.note(stranger.ask(path))

    def kill_the_worker_in_an_apply(self) -> None:
        """And its children; the supervisor starts it again, and the apply is finished or taken back."""
        self.api.call("PATCH", f"pools/{self.ids['typed']}/", {"size": 3})
        with suppress(Refused):
            self.api.post(f"poolers/{self.ids['pgbouncer']}/apply/")
        self.end("worker", signal.SIGKILL)

    def end(self, program: str, with_signal: signal.Signals) -> None:
        """End a program with its children, and wait until another one is there in its place."""
        old = heads(self.installation)[program]
        for pid in [*below(old), old]:
            with suppress(ProcessLookupError):
                os.kill(pid, with_signal)
        self.until(lambda: heads(self.installation).get(program, old) != old)

    def until(self, is_so: Callable[[], object], seconds: float = 60) -> None:
        """Wait for it."""
        deadline = time.monotonic() + seconds
        while not is_so():
            assert time.monotonic() < deadline, self.installation.lines[-10:]
            time.sleep(0.1)

    def crash_with_a_core(self) -> None:
        """The programs that hold secrets in memory die as by a fault of their own."""
        for program in ("worker", "beat"):
            self.end(program, signal.SIGSEGV)

    def kill_the_web_in_a_request(self) -> None:
        """Some are under way that carry secrets; then once more as by a fault of its own."""
        typed = self.secrets.choose("in a killed request")
        body = {"name": "killed", "host": "10.255.255.1", "port": 5432, "admin_user": "u", "admin_password": typed}

        def send() -> None:
            with suppress(OSError, Refused):
                self.note(self.program.send("/api/v1/clusters/", body))

        for with_signal in (signal.SIGKILL, signal.SIGSEGV):
            threads = [threading.Thread(target=send) for _ in range(3)]
            for thread in threads:
                thread.start()
            time.sleep(0.3)
            self.end("web", with_signal)
            for thread in threads:
                thread.join(60)
        self.until(self.is_ready)

    def is_ready(self) -> bool:
        """All programs are well."""
        with suppress(OSError):
            return self.program.ask("/healthz/ready")[0] == 200
        return False

    def break_the_database(self) -> None:
        """Forms, reads and streams meanwhile: each ends in a page or an answer of its own."""
        typed = self.secrets.choose("typed meanwhile")
        body = {"name": "meanwhile", "host": "a", "port": 1, "admin_user": "u", "admin_password": typed}
        self.metadata.stop()
        try:
            self.note(self.program.send("/api/v1/clusters/", body))
            self.note(self.browser.ask("/login/", f"username=admin&password={typed}".encode("ascii", "ignore")))
            for path in ("/", "/pools/", "/login/", f"/runs/{self.ids['cluster']}/"):
                self.note(self.browser.ask(path))
            self.note(self.program.ask("/api/v1/pools/"))
            self.note(self.program.ask("/healthz/ready"))
        finally:
            self.metadata.start()
        assert any(where.startswith("503") for where, _ in self.errors), [where for where, _ in self.errors]
        self.until(self.is_ready)

    def run_with_a_wrong_password(self) -> None:
        """Somebody has given the role another one; the panel's no longer works."""
        self.apply_again()
        with self.target.connect() as session:
            session.execute("ALTER ROLE typed PASSWORD 'another'")
        with suppress(Refused):
            self.api.post(f"pools/{self.ids['typed']}/reconnect/")  # its sessions at the server have logged in before
        options = {"duration": 1, "clients": 1, "scripts": [{"text": "SELECT 1;"}]}
        body = {"engine": "pgbench", "options": options, "target": {"pool": self.ids["typed"]}}
        run = self.asked_run(body)
        assert run["status"] == "failed", run
        with suppress(Refused):
            self.api.post(f"clusters/{self.ids['cluster']}/users/", {"name": "app"})
        with suppress(Refused):
            self.api.call("DELETE", f"clusters/{self.ids['cluster']}/users/app/")

    def apply_again(self) -> None:
        """Wait until the apply that was killed is finished or taken back; then once more."""
        pool = f"pools/{self.ids['typed']}/"
        found = self.api.wait(pool, "state", SETTLED, 90)
        if found["state"] != "applied":
            print(found["state"], found["state_reason"])
            self.api.call("PATCH", pool, {"size": 4})
            found = self.api.wait(pool, "state", SETTLED, 90)
            assert found["state"] == "applied", found

    def tell_of_it(self) -> None:
        """Events reach the webhook and the mail server, and so does a test message."""
        self.note(self.browser.send_form("/events/test/"))
        self.until(lambda: self.webhook.got and self.mail.got)

    def back_up(self) -> None:
        """The command, and the check of the trail, as their administrator runs them."""
        environment = dict(psutil.Process(heads(self.installation)["worker"]).environ())
        commands = [("backup", str(self.folder / "backup")), ("verify_audit",), ("doctor",)]
        started = [
            subprocess.Popen(
                [sys.executable, "manage.py", *words],
                cwd=ROOT,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            for words in commands
        ]
        for words, process in zip(commands, started, strict=True):
            printed = process.communicate(timeout=120)[0]
            self.printed.append((words[0], printed))
            assert process.returncode == 0 or words == ("doctor",), printed.decode()

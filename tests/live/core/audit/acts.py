"""What people and programs do all day, by pages and by API, each act under a reason of its own."""

import json
import random
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlencode

from panel.quickstart.ports import LOOPBACK
from tests.live.core.audit.panel import OwnWeb, Panel

POOLS_OF_EACH, SIZES = 5, (1, 2)
VERBS = {"pause": "resume", "resume": "", "reconnect": "", "disable": "enable", "enable": "", "kill": ""}
FORM, JSON = "application/x-www-form-urlencoded", "application/json"
COOKIE = re.compile(r"(\w+)=([^;]*)")


class Lost(Exception):
    """A request was sent, and its process died before it answered."""


@dataclass
class Answer:
    """The status, the cookies that were set, and the body."""

    status: int
    cookies: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)


@dataclass
class Act:
    """One act: the entries that it leaves where it is done, and where a pooler or the panel refuses it."""

    number: int
    what: str
    done: list[tuple[str, str]]
    refused: list[tuple[str, str]] = field(default_factory=list)
    status: int = 0  # 0: its process died before it answered

    @property
    def reason(self) -> str:
        """What its entries say as their reason."""
        return f"act {self.number}"

    @property
    def possible(self) -> list[list[tuple[str, str]]]:
        """The entries that it may have left: what was killed may have got to any point."""
        if self.status:
            return [self.done if self.status < 400 else self.refused]
        return [kept[:end] for kept in (self.done, self.refused) for end in range(len(kept) + 1)]


class Requests:
    """Sends requests to whichever web server takes them, and knows how many each is answering."""

    def __init__(self, webs: list[OwnWeb]) -> None:
        self.webs = webs
        self.open_at = {web.port: 0 for web in webs}
        self.lock = threading.Lock()

    def send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        """Return the answer. Raises `Lost`; where nobody listens, nothing was sent, and another server is asked."""
        while True:
            connection = HTTPConnection(LOOPBACK, random.choice(self.webs).port, timeout=60)
            try:
                connection.connect()
            except OSError:
                time.sleep(0.05)
                continue
            self._count(connection.port, 1)
            try:
                connection.request(method, path, body, {"Connection": "close", **headers})
                answer = connection.getresponse()
                text = answer.read()
            except (OSError, HTTPException) as error:
                raise Lost from error
            finally:
                self._count(connection.port, -1)
                connection.close()
            cookies = dict(COOKIE.match(one).groups() for one in answer.headers.get_all("Set-Cookie", []))  # type: ignore[union-attr]
            return Answer(answer.status, cookies, text)

    def _count(self, port: int, change: int) -> None:
        with self.lock:
            self.open_at[port] += change


@dataclass
class OwnPool:
    """A pool of one person alone."""

    pk: str
    name: str
    size: int
    next_verb: str = ""


class Person(threading.Thread):
    """Acts one after the other on what nobody else touches, with a browser and with a token."""

    def __init__(self, requests: Requests, told: dict[str, Any], numbers: "Numbers", seed: int) -> None:
        super().__init__(name=f"person-{seed}", daemon=True)
        self.requests, self.told, self.numbers = requests, told, numbers
        self.random = random.Random(seed)
        self.cookies: dict[str, str] = {}
        self.acts: list[Act] = []
        self.pools: list[OwnPool] = []
        self.tokens: list[str] = []
        self.scripts: list[tuple[str, str]] = []  # id and name
        self.members: dict[str, str] = {}  # name → role
        self.strangers = [name for name in told["people"] if int(name.rpartition("-")[2]) % len(numbers.seeds) == seed]
        self.error: BaseException | None = None

    def run(self) -> None:
        """Act until all numbers are given out."""
        try:
            self.log_in()
            while number := self.numbers.next():
                self.act(number)
        except BaseException as error:
            self.error = error
            raise

    def log_in(self) -> None:
        """As a browser does; again where the server was killed meanwhile."""
        while "sessionid" not in self.cookies:
            with suppress(Lost):
                self.cookies = self.requests.send("GET", "/login/", None, {}).cookies
                self.form("/login/", {"username": "admin", "password": self.told["password"]})
                assert "sessionid" in self.cookies

    def act(self, number: int) -> None:
        """Do one of the acts that are possible now."""
        possible: list[Callable[[int], None]] = [self.create_token, self.create_script, self.apply, self.be_refused]
        possible += [self.create_pool] * 3 if len(self.pools) < POOLS_OF_EACH else []
        possible += (
            [self.change_pool] * 4 + [self.remove_pool] + [self.reveal] * 3 + [self.verb] * 6 if self.pools else []
        )
        possible += [self.revoke_token] * 2 if self.tokens else []
        possible += [self.delete_script] * 2 if self.scripts else []
        possible += [self.add_member] if self.strangers else []
        possible += [self.change_member, self.remove_member] if self.members else []
        self.random.choice(possible)(number)

    def create_pool(self, number: int) -> None:
        """By API or by the form."""
        act = Act(number, "create pool", [("pool.create", "")])
        size, name = self.random.choice(SIZES), f"p{number}"
        values = {**self.told["pool"], "name": name, "mode": "transaction", "size": size, "target": "primary"}
        if self.by_page():
            answer = self.send_form(act, "/pools/new/", values)
        else:
            answer = self.send_json(act, "POST", "pools/", values)
        if answer:
            self.pools.append(OwnPool(self.pk_of(name), name, size))

    def pk_of(self, name: str) -> str:
        """Look a pool up, as often as it takes."""
        while True:
            try:
                found = self.ask("GET", f"/api/v1/pools/?search={name}&page_size=200").json["results"]
            except Lost:
                continue
            return next(str(one["id"]) for one in found if one["name"] == name)

    def change_pool(self, number: int) -> None:
        """Another size."""
        act, pool = Act(number, "change pool", [("pool.change", "")]), self.random.choice(self.pools)
        size = SIZES[pool.size == SIZES[0]]
        if self.by_page():
            values = {**self.told["pool"], "name": pool.name, "mode": "transaction", "size": size, "target": "primary"}
            answer = self.send_form(act, f"/pools/{pool.pk}/edit/", values)
        else:
            answer = self.send_json(act, "PATCH", f"pools/{pool.pk}/", {"size": size})
        pool.size = size
        if not answer:
            self.pools.remove(pool)  # nobody knows which size it has

    def remove_pool(self, number: int) -> None:
        """A worker removes it from the pooler, and then its record."""
        act, pool = Act(number, "remove pool", [("pool.remove", "")]), self.random.choice(self.pools)
        self.pools.remove(pool)
        self.by_either(act, f"/pools/{pool.pk}/delete/", "DELETE", f"pools/{pool.pk}/")

    def reveal(self, number: int) -> None:
        """Its connection string with the password."""
        act, pool = Act(number, "reveal", [("secret.reveal", "")]), self.random.choice(self.pools)
        if self.by_page():
            answer = self.send_form(act, f"/pools/{pool.pk}/connection/", {"as": "uri"})
        else:
            answer = self.send_json(act, "GET", f"pools/{pool.pk}/connection/?as=uri&reveal=1")
        assert not answer or self.told["app_password"].encode() in answer.body

    def verb(self, number: int) -> None:
        """A command of the console; a pause and a refusal of clients are undone by the next one."""
        pool = self.random.choice(self.pools)
        word = pool.next_verb or self.random.choice(list(VERBS))
        pool.next_verb = VERBS[word]
        asked = (f"pool.{word}", "asked for")
        act = Act(number, f"{word} pool", [asked, (asked[0], "done")], [asked, (asked[0], "failed")])
        values = {"pause": {"deadline_s": 1, "hold_s": 2}, "kill": {"confirm": pool.name, "hold_s": 0}}.get(word, {})
        self.by_either(act, f"/pools/{pool.pk}/console/{word}/", "POST", f"pools/{pool.pk}/{word}/", values)

    def apply(self, number: int) -> None:
        """Ask for an apply of the pooler, whose outcome a worker records."""
        act, pk = Act(number, "apply", [("pooler.apply", "")]), self.told["pool"]["pooler"]
        self.by_either(act, f"/poolers/{pk}/apply/", "POST", f"poolers/{pk}/apply/")

    def create_token(self, number: int) -> None:
        """One that may read."""
        act, name = Act(number, "create token", [("token.create", "")]), f"t{number}"
        if self.by_page():
            self.send_form(act, "/tokens/", {"name": name, "scopes": ["read"], "lifetime_days": "30"})
        elif answer := self.send_json(act, "POST", "tokens/", {"name": name, "scopes": ["read"]}):
            self.tokens.append(answer.json["id"])

    def revoke_token(self, number: int) -> None:
        """One that was made over the API."""
        act, pk = Act(number, "revoke token", [("token.revoke", "")]), self.tokens.pop()
        self.by_either(act, f"/tokens/{pk}/revoke/", "DELETE", f"tokens/{pk}/")

    def create_script(self, number: int) -> None:
        """With its first version."""
        act = Act(number, "create script", [("script.create", ""), ("script.change", "")])
        if answer := self.send_json(act, "POST", "scripts/", {"name": f"s{number}", "text": f"SELECT {number};\n"}):
            self.scripts.append((answer.json["id"], f"s{number}"))

    def delete_script(self, number: int) -> None:
        """One of one's own."""
        act, (pk, name) = Act(number, "delete script", [("script.delete", "")]), self.scripts.pop()
        self.by_either(act, f"/scripts/{pk}/delete/", "DELETE", f"scripts/{pk}/", {}, {"name": name})

    def add_member(self, number: int) -> None:
        """Somebody who is in no team."""
        act, name, team = Act(number, "add member", [("team.add_member", "")]), self.strangers.pop(), self.told["team"]
        values = {"username": name, "role": "viewer"}
        if self.by_either(act, f"/teams/{team}/members/add/", "POST", f"teams/{team}/members/", values):
            self.members[name] = "viewer"

    def change_member(self, number: int) -> None:
        """To another role."""
        act, name = Act(number, "change member", [("team.change_role", "")]), self.random.choice(list(self.members))
        role = "developer" if self.members[name] == "viewer" else "viewer"
        where = f"members/{self.told['people'][name]}/"
        team = f"teams/{self.told['team']}/"
        answer = self.by_either(act, f"/{team}{where}", "PATCH", f"{team}{where}", {"role": role})
        self.members[name] = role
        if not answer:
            del self.members[name]

    def remove_member(self, number: int) -> None:
        """Out of the team again."""
        act, name = Act(number, "remove member", [("team.remove_member", "")]), self.random.choice(list(self.members))
        where = f"teams/{self.told['team']}/members/{self.told['people'][name]}/"
        del self.members[name]
        if self.by_either(act, f"/{where}remove/", "DELETE", where):
            self.strangers.append(name)

    def be_refused(self, number: int) -> None:
        """Ask for what nobody gets: nothing changes, and no entry says that it did."""
        act, team = Act(number, "be refused", []), self.told["team"]
        values = {"username": "nobody-of-this-name", "role": "viewer"}
        answer = self.by_either(act, f"/teams/{team}/members/add/", "POST", f"teams/{team}/members/", values)
        assert answer is None

    def by_page(self) -> bool:
        """Toss a coin."""
        return self.random.random() < 0.5

    def by_either(
        self,
        act: Act,
        page: str,
        method: str,
        address: str,
        values: dict[str, Any] | None = None,
        typed: dict[str, Any] | None = None,
    ) -> Answer | None:
        """Send a form, or a request of the API; `typed` is what the form takes besides."""
        if self.by_page():
            return self.send_form(act, page, {**(values or {}), **(typed or {})})
        return self.send_json(act, method, address, values)

    def send_form(self, act: Act, path: str, values: dict[str, Any]) -> Answer | None:
        """Send a form; None where it was refused, or its server died."""
        act.what += " by page"
        return self._sent(act, lambda: self.form(path, {**values, "audit_reason": act.reason}))

    def send_json(self, act: Act, method: str, address: str, values: Any = None) -> Answer | None:
        """Send a request of the API; None as above."""
        act.what += " by API"
        return self._sent(act, lambda: self.ask(method, f"/api/v1/{address}", values, {"X-Reason": act.reason}))

    def _sent(self, act: Act, send: Callable[[], Answer]) -> Answer | None:
        self.acts.append(act)
        try:
            answer = send()
        except Lost:
            return None
        act.status = answer.status
        assert answer.status < 500, (act, answer.body[:2000])
        return answer if answer.status < 400 else None

    def form(self, path: str, values: dict[str, Any]) -> Answer:
        """Send a form with the cookies."""
        sent = {**values, "csrfmiddlewaretoken": self.cookies["csrftoken"]}
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        answer = self.requests.send(
            "POST", path, urlencode(sent, doseq=True).encode(), {"Cookie": cookies, "Content-Type": FORM}
        )
        self.cookies |= answer.cookies
        return answer

    def ask(self, method: str, path: str, values: Any = None, headers: dict[str, str] | None = None) -> Answer:
        """Send a request of the API with the token."""
        body = None if method in ("GET", "DELETE") else json.dumps(values or {}).encode()
        told = {"Authorization": f"Bearer {self.told['token']}", "Content-Type": JSON}
        return self.requests.send(method, path, body, {**told, **(headers or {})})


class Numbers:
    """Gives each act its number, to whoever asks next; those beyond `allowed` wait."""

    def __init__(self, most: int, people: int) -> None:
        self.most, self.seeds = most, range(people)
        self.given = self.allowed = 0
        self.changed = threading.Condition()

    def next(self) -> int:
        """Return the next number; 0 where there is none left."""
        with self.changed:
            self.changed.wait_for(lambda: self.given < self.allowed or self.given == self.most)
            if self.given == self.most:
                return 0
            self.given += 1
            return self.given

    def allow(self, number: int) -> None:
        """Let people act up to this number."""
        with self.changed:
            self.allowed = max(self.allowed, min(number, self.most))
            self.changed.notify_all()


def people_of(panel: Panel, told: dict[str, Any], acts: int, people: int) -> tuple[list[Person], Requests, Numbers]:
    """Return people who share the acts."""
    requests, numbers = Requests(panel.webs), Numbers(acts, people)
    return [Person(requests, told, numbers, seed) for seed in numbers.seeds], requests, numbers

"""The audit trail in real receivers of syslog and webhooks, while they and the worker are killed: nothing is lost."""

import json
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest

from core.audit.models import Entry, StreamPosition
from core.audit.recording import Subject, record
from panel.quickstart.programs import Program
from panel.quickstart.servers import RedisServer, free_port
from tests.live.panel import trail_receivers
from tests.live.panel_programs import TestBeat, TestWorker
from tests.live.standbys import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
SECRET = "canary-of-the-stream"
RSYSLOGD = shutil.which("rsyslogd")
RSYSLOG_CONF = """
global(workDirectory="{home}" maxMessageSize="256k")
module(load="imtcp")
input(type="imtcp" address="127.0.0.1" port="{port}")
template(name="text" type="string" string="%msg%\\n")
action(type="omfile" file="{kept}" template="text")
"""


class Receiver(Program):
    """A receiver of one kind on a port of its own."""

    def __init__(self, home: Path, kind: str) -> None:
        super().__init__(home)
        self.name, self.kind, self.port = f"receiver-{kind}", kind, free_port()
        self.kept = home / f"{kind}.got"

    @property
    def argv(self) -> list[str]:
        return [sys.executable, trail_receivers.__file__, self.kind, str(self.port), str(self.kept)]

    def probe(self) -> None:
        """It says so."""
        if "ready" not in self.log:
            raise OSError("it has not said that it is ready")

    def slowly(self, is_slow: bool) -> None:
        """Let it wait a second after each entry, or no longer."""
        slow = self.kept.with_suffix(".slow")
        slow.touch() if is_slow else slow.unlink(missing_ok=True)

    def entries(self) -> list[dict[str, object]]:
        """What it was sent, in the order in which it came."""
        return [json.loads(line) for line in self.kept.read_text().splitlines()] if self.kept.exists() else []

    def numbers(self) -> list[int]:
        return [int(str(entry["number"])) for entry in self.entries()]


class Rsyslogd(Receiver):
    """Debian's rsyslogd."""

    def prepare(self) -> None:
        super().prepare()
        text = RSYSLOG_CONF.format(home=self.home, port=self.port, kept=self.kept)
        (self.home / "rsyslog.conf").write_text(text)

    @property
    def argv(self) -> list[str]:
        return [str(RSYSLOGD), "-n", "-f", str(self.home / "rsyslog.conf"), "-i", str(self.home / "rsyslog.pid")]

    def probe(self) -> None:
        """It has its pid file, and listens."""
        if not (self.home / "rsyslog.pid").exists():
            raise OSError("it has not started")


class SendingWorker(TestWorker):
    """A worker that sends the trail."""

    __test__ = False
    receivers: dict[str, str]

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | self.receivers


@pytest.fixture
def programs(tmp_path: Path, queue: RedisServer) -> Iterator[ExitStack]:
    with ExitStack() as stack:
        stack.enter_context(TestBeat(tmp_path, queue.url))
        yield stack


def worker_for(tmp_path: Path, queue: RedisServer, *receivers: Receiver) -> SendingWorker:
    addresses = {
        "syslog": {"POOLDECK_AUDIT_SYSLOG": "tcp://127.0.0.1:{port}"},
        "webhook": {
            "POOLDECK_AUDIT_WEBHOOK_URL": "http://127.0.0.1:{port}/trail",
            "POOLDECK_AUDIT_WEBHOOK_SECRET": "a secret",
        },
    }
    worker = SendingWorker(tmp_path, queue.url)
    worker.receivers = {
        name: value.format(port=receiver.port)
        for receiver in receivers
        for name, value in addresses[receiver.kind].items()
    }
    return worker


def acts(count: int) -> None:
    for number in range(count):
        record("pool.change", Subject("pool", str(number), "shop"), after={"size": number, "password": SECRET})


def has_all(receiver: Receiver) -> bool:
    last = Entry.objects.order_by("-number").values_list("number", flat=True).first()
    return last in receiver.numbers()


def check(receiver: Receiver, cuts: int) -> None:
    """All arrived as they are in the database, none out of order, and repeated at most where something was killed."""
    got, numbers = receiver.entries(), receiver.numbers()
    first = {int(str(entry["number"])): entry for entry in reversed(got)}
    assert [first[number] for number in sorted(first)] == [one.as_json() for one in Entry.objects.order_by("number")]
    steps = [later - earlier for earlier, later in pairwise(numbers)]
    assert max(steps) == 1, "an entry came before one with a lower number"
    back = [step for step in steps if step != 1]
    assert len(back) <= cuts, f"repeated {len(back)} times, and {cuts} were killed"
    assert SECRET not in receiver.kept.read_text()
    print(f"{receiver.name}: {len(first)} entries, {len(numbers) - len(first)} repeated, at {len(back)} cuts")


def test_kills_of_receivers_and_worker_lose_nothing(tmp_path: Path, queue: RedisServer, programs: ExitStack) -> None:
    receivers = [programs.enter_context(Receiver(tmp_path, kind)) for kind in ("syslog", "webhook")]
    worker = programs.enter_context(worker_for(tmp_path, queue, *receivers))
    programs.callback(lambda: print(worker.log))
    acts(300)
    until(lambda: all(has_all(receiver) for receiver in receivers), 60)

    for receiver in receivers:  # down, while acts go on
        receiver.kill(signal.SIGKILL)
        receiver.wait_until_stopped()
    acts(250)
    until(lambda: StreamPosition.objects.filter(failures__gte=2).count() == 2, 60)
    for receiver in receivers:
        receiver.start()
    acts(50)
    until(lambda: all(has_all(receiver) for receiver in receivers), 90)

    for receiver in receivers:  # the worker is killed while they have taken a part
        receiver.slowly(True)
        before = len(receiver.numbers())
        acts(20)
        until(lambda receiver=receiver, before=before: len(receiver.numbers()) > before, 60)
        worker.kill(signal.SIGKILL)
        worker.wait_until_stopped()
        receiver.slowly(False)
        acts(20)
        worker.start()
        until(lambda: all(has_all(receiver) for receiver in receivers), 90)

    receiver = receivers[0]  # a receiver is killed while it has taken a part
    receiver.slowly(True)
    before = len(receiver.numbers())
    acts(20)
    until(lambda: len(receiver.numbers()) > before, 60)
    receiver.kill(signal.SIGKILL)
    receiver.wait_until_stopped()
    receiver.slowly(False)
    receiver.start()
    until(lambda: has_all(receiver), 90)
    for receiver in receivers:
        check(receiver, cuts=4)
    assert len(receivers[0].numbers()) > Entry.objects.count(), "no kill has hit a portion on its way"


@pytest.mark.skipif(RSYSLOGD is None, reason="rsyslogd is not installed")
def test_rsyslog_takes_all(tmp_path: Path, queue: RedisServer, programs: ExitStack) -> None:
    receiver = programs.enter_context(Rsyslogd(tmp_path, "syslog"))
    programs.enter_context(worker_for(tmp_path, queue, receiver))
    acts(300)
    until(lambda: has_all(receiver), 60)
    receiver.stop()
    acts(50)
    until(lambda: StreamPosition.objects.filter(failures__gte=1).exists(), 60)
    receiver.start()
    until(lambda: has_all(receiver), 60)
    check(receiver, cuts=1)

"""Events as values come and go, and whom they are told."""

import uuid
from datetime import timedelta
from math import inf

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core.accounts.models import Team
from core.audit.models import StreamPosition
from core.audit.recording import Subject, record
from core.lib import syslog
from pools.models import Event, EventKind, NodeRole, Notice, Pooler, PoolState, Severity, SubjectType
from pools.monitoring import alerting, metric_values, thresholds
from pools.monitoring.hysteresis import Rule
from pools.monitoring.metric_values import Value
from pools.monitoring.sampler import ConsoleSnapshot
from pools.poolers.console_sample import PoolFigures
from tests.pools.monitoring.records import an_event
from tests.pools.records import a_cluster, a_node, a_pool, a_pooler, checked

pytestmark = pytest.mark.django_db
AT_ONCE = Rule(5, 2, 0)
LATER = Rule(5, 2, 30)


@pytest.fixture(autouse=True)
def webhook(settings):
    settings.WEBHOOK_URL = "http://127.0.0.1:1/"


def bounds(rule: Rule, *, enabled: bool = True):
    return {EventKind.WAITING: thresholds.Bound(thresholds.WATCHES[EventKind.WAITING], rule, enabled)}


def waiting(pool, count: float) -> Value:
    return Value(EventKind.WAITING, SubjectType.POOL, pool.pk, pool.name, count, f"{count} wait", pool.pooler_id)


def described() -> list[tuple[str, str]]:
    return [(notice.event.subject_name, notice.moment) for notice in Notice.objects.order_by("pk")]


def test_an_event_opens_once_stays_between_the_bounds_and_closes_once():
    pool = a_pool(name="web")
    for count in (4, 5, 9, 4, 3, 9, 1, 0):
        alerting.judge_values([waiting(pool, count)], bounds(AT_ONCE))
    event = Event.objects.get()
    assert (event.value, event.message, event.severity) == (5, "5 wait", Severity.WARNING)
    assert event.closed_at is not None
    assert described() == [("web", "opened"), ("web", "closed")]


def test_what_has_to_last_brews_unseen_until_it_has():
    pool = a_pool()
    alerting.judge_values([waiting(pool, 6)], bounds(LATER))
    assert (Event.objects.count(), Event.objects.reportable().count()) == (1, 0)
    Event.objects.update(crossed_at=timezone.now() - timedelta(seconds=31))
    alerting.judge_values([waiting(pool, 7)], bounds(LATER))
    assert Event.objects.ongoing().get().value == 7


def test_what_was_too_short_leaves_no_trace():
    pool = a_pool()
    alerting.judge_values([waiting(pool, 6)], bounds(LATER))
    alerting.judge_values([waiting(pool, 3)], bounds(LATER))
    assert (Event.objects.count(), described()) == (0, [])


def test_a_subject_nothing_is_known_of_keeps_its_event():
    pool = a_pool()
    alerting.judge_values([waiting(pool, 6)], bounds(AT_ONCE))
    alerting.judge_values([], bounds(AT_ONCE))
    assert Event.objects.ongoing().count() == 1


def test_events_of_what_is_gone_are_closed():
    event = an_event(a_pool(), subject_id=uuid.uuid4())
    alerting.judge_values([], bounds(AT_ONCE))
    event.refresh_from_db()
    assert event.closed_at is not None


def test_what_is_no_longer_looked_after_is_closed():
    pool = a_pool()
    an_event(pool)
    alerting.judge_values([waiting(pool, 99)], bounds(AT_ONCE, enabled=False))
    assert Event.objects.ongoing().count() == 0


def test_two_judges_open_one_event_and_have_it_told_once(monkeypatch):
    pool, rule = a_pool(), bounds(AT_ONCE)
    real = alerting._open
    monkeypatch.setattr(alerting, "_open", lambda *words: (real(*words), real(*words)))
    alerting.judge_values([waiting(pool, 6)], rule)
    alerting._note_crossing(rule[EventKind.WAITING], waiting(pool, 6), timezone.now())
    assert (Event.objects.count(), described()) == (1, [(pool.name, "opened")])


def test_without_a_channel_nobody_is_told(settings):
    settings.WEBHOOK_URL = ""
    alerting.judge_values([waiting(a_pool(), 6)], bounds(AT_ONCE))
    assert (Event.objects.ongoing().count(), described()) == (1, [])


def values_of(snapshots) -> dict[tuple[str, str], float]:
    return {(value.kind, value.subject_name): value.value for value in metric_values.all_values(snapshots)}


def test_everything_that_is_looked_after_has_its_value():
    cluster = a_cluster(name="main")
    checked(cluster, max_connections=43)
    pool = a_pool(name="web", cluster=cluster, size=30, state="failed", applied_at=timezone.now())
    pool.pooler.needs_restart = [{"name": "listen_port", "live": "1", "wanted": "2"}]
    pool.pooler.server_version = "PgBouncer 1.26.0"
    pool.pooler.save(update_fields=["needs_restart", "server_version"])
    figures = {"web": PoolFigures(cl_waiting=3, maxwait_ms=1500)}
    snapshot = ConsoleSnapshot(at=1.0, figures=figures, clients=60, most_clients=80)
    name = pool.pooler.name
    assert values_of({pool.pooler_id: snapshot}) == {
        ("pooler_down", name): False,
        ("not_applied", name): 1,
        ("drift", name): False,
        ("restart", name): True,
        ("client_limit", name): 75.0,
        ("vulnerable", name): 3,
        ("certificate", name): inf,
        ("certificate", "main"): inf,
        ("waiting", "web"): 3,
        ("maxwait", "web"): 1.5,
        ("failing", "web"): False,
        ("cluster_down", "main"): False,
        ("budget", "main"): 75.0,
        ("lag", "main"): 0.0,
        ("unsent", "audit trail"): 0.0,
    }


def test_a_pooler_that_lets_in_few_more_clients_opens_an_event_before_it_refuses_them():
    pooler = a_pooler(name="edge")
    rule = thresholds.Bound(thresholds.WATCHES[EventKind.CLIENT_LIMIT], Rule(85, 75, 0))
    for clients in (84, 85, 76, 74):
        snapshot = ConsoleSnapshot(at=1.0, clients=clients, most_clients=100)
        values = [one for one in metric_values.all_values({pooler.pk: snapshot}) if one.kind == EventKind.CLIENT_LIMIT]
        alerting.judge_values(values, {EventKind.CLIENT_LIMIT: rule})
    event = Event.objects.get()
    assert (event.value, event.severity, event.is_open) == (85, Severity.CRITICAL, False)
    assert event.message == "85 of the 100 clients that max_client_conn allows are connected (85 %)"


def test_a_pooler_that_tells_no_limit_of_its_clients_has_no_value_of_it():
    pooler = a_pooler()
    assert ("client_limit", pooler.name) not in values_of({pooler.pk: ConsoleSnapshot(at=1.0)})


def test_a_release_with_known_vulnerabilities_is_an_event_that_names_them_until_it_is_upgraded():
    rules = {EventKind.VULNERABLE: thresholds.bounds()[EventKind.VULNERABLE]}
    unknown, pooler = a_pooler(), a_pooler(name="edge", server_version="PgBouncer 1.25.2")
    for kind in ("pgpool", "haproxy"):
        a_pooler(kind=kind, server_version="1.25.2")
    for version in ("PgBouncer 1.26.0", "PgBouncer 1.26.1"):
        type(pooler).objects.filter(pk=pooler.pk).update(server_version=version)
        values = [one for one in metric_values.all_values({}) if one.kind == EventKind.VULNERABLE]
        alerting.judge_values(values, rules)
    event = Event.objects.get()
    assert (event.subject_name, event.value, event.is_open) == ("edge", 3, False)
    assert event.message == (
        "PgBouncer 1.26.0 has 3 published vulnerabilities (CVE-2026-107350, CVE-2026-107349, CVE-2026-107348), all "
        "fixed in 1.26.1; a distribution's package may have some of the fixes"
    )
    assert unknown.pk not in {one.subject_id for one in values}


def judged_at(lag_s: float | None, node, *kinds: EventKind) -> None:
    """Judge these kinds after a check that found the standby so far behind; None where it did not answer."""
    type(node).objects.filter(pk=node.pk).update(lag_s=lag_s)
    rules = {kind: thresholds.Bound(thresholds.WATCHES[kind], Rule(60, 30, 0)) for kind in kinds}
    alerting.judge_values([one for one in metric_values.all_values({}) if one.kind in kinds], rules)


def test_a_read_pool_whose_standby_lags_is_an_event_and_one_of_the_primary_is_not():
    cluster = a_cluster()
    node = a_node(cluster, host="db-2", port=5432)
    reads = a_pool(name="reads", cluster=cluster, target=NodeRole.STANDBY)
    a_pool(name="writes", cluster=cluster)
    for lag_s in (59.0, 75.0, 31.0, None):
        judged_at(lag_s, node, EventKind.READ_LAG)
    event = Event.objects.get()
    assert (event.subject_name, event.pooler_id, event.is_open) == ("reads", reads.pooler_id, True)
    assert event.message == "its clients may read rows that are 75 s old: standby db-2:5432 is behind the primary"
    judged_at(29.0, node, EventKind.READ_LAG)
    assert not Event.objects.ongoing().exists()


def test_a_standby_that_was_removed_lags_no_longer():
    cluster = a_cluster()
    node = a_node(cluster)
    a_pool(cluster=cluster, target=NodeRole.STANDBY)
    judged_at(75.0, node, EventKind.READ_LAG, EventKind.LAG)
    assert Event.objects.ongoing().count() == 2
    node.delete()
    judged_at(0.0, node, EventKind.READ_LAG, EventKind.LAG)
    assert not Event.objects.ongoing().exists()


def test_the_lag_of_a_cluster_and_of_its_read_pools_is_one_message():
    cluster = a_cluster()
    checked(cluster, in_recovery=True, lag_s=75.0)  # the standby is at the cluster's own address
    for _ in range(2):
        a_pool(cluster=cluster, target=NodeRole.STANDBY)
    judged_at(None, a_node(cluster, in_recovery=False), EventKind.READ_LAG, EventKind.LAG)
    assert list(Notice.objects.values_list("cause", flat=True)) == [cluster.pk] * 3


def test_the_vulnerable_releases_of_all_poolers_are_one_message():
    poolers = [a_pooler(server_version="PgBouncer 1.26.0") for _ in range(3)]
    values = [one for one in metric_values.all_values({}) if one.kind == EventKind.VULNERABLE]
    alerting.judge_values(values, {EventKind.VULNERABLE: thresholds.bounds()[EventKind.VULNERABLE]})
    told = Notice.objects.values_list("event__subject_id", "cause")
    assert {subject for subject, _ in told} == {pooler.pk for pooler in poolers}
    assert len({cause for _, cause in told}) == 1


@pytest.mark.django_db(transaction=True)
def test_a_trail_that_is_not_taken_opens_an_event_for_administrators(client, settings):
    settings.AUDIT_SYSLOG = syslog.parse("tcp://logs.example.org:514")
    position = StreamPosition.objects.create(target="syslog", error="Connection refused")
    position.failing_since = timezone.now() - timedelta(seconds=50)
    position.save()
    bounds = {EventKind.UNSENT: thresholds.bounds()[EventKind.UNSENT]}
    record("pool.change", Subject("pool", "1"))
    alerting.judge_values([of_kind(EventKind.UNSENT)], bounds)
    assert not Event.objects.exists()
    StreamPosition.objects.update(failing_since=timezone.now() - timedelta(seconds=70))
    alerting.judge_values([of_kind(EventKind.UNSENT)], bounds)
    event = Event.objects.get()
    assert event.message.startswith("syslog tcp://logs.example.org:514: ")
    assert event.message.endswith(": Connection refused")
    assert (event.get_absolute_url(), event.subject, event.is_open) == ("/audit/", None, True)
    Team.objects.create(name="second")  # members of the only team see all
    for name, sees in (("root", True), ("dba", False)):
        person = User.objects.create_user(name, is_staff=sees, is_superuser=sees)
        client.force_login(person)
        assert (b"connection refused" in client.get("/events/").content.lower()) is sees
    StreamPosition.objects.update(failing_since=None)
    alerting.judge_values([of_kind(EventKind.UNSENT)], bounds)
    assert not Event.objects.get().is_open


def of_kind(kind: EventKind) -> Value:
    return next(value for value in metric_values.all_values({}) if value.kind == kind)


def test_the_budget_is_that_of_the_servers_of_which_the_most_is_given():
    cluster = a_cluster(name="main")
    checked(cluster, max_connections=103)
    a_node(cluster)
    a_pool(cluster=cluster, size=30)
    found = of_kind(EventKind.BUDGET)
    assert (found.value, found.message) == (30, "30 of 100 connections are allocated to pools (30 %)")
    a_pool(cluster=cluster, size=95, target=NodeRole.STANDBY)
    found = of_kind(EventKind.BUDGET)
    assert (found.value, found.message) == (95, "95 of 100 connections of each standby are allocated to pools (95 %)")
    alerting.judge_values([found], {EventKind.BUDGET: thresholds.bounds()[EventKind.BUDGET]})
    alerting.judge_values([found], {EventKind.BUDGET: thresholds.bounds()[EventKind.BUDGET]})
    assert Event.objects.ongoing().get().message == found.message


def test_files_that_nobody_looks_at_open_an_event_that_names_whose_worker_is_missed():
    pooler = a_pooler(generator="rack-2")
    assert EventKind.UNSEEN not in {value.kind for value in metric_values.all_values({})}  # nothing was applied yet
    pooler.revisions.create(number=1, state="applied", finished_at=timezone.now() - timedelta(seconds=600))
    found = of_kind(EventKind.UNSEEN)
    assert found.message == (
        "its configuration files have not been checked for 600 s: no worker of generator rack-2 checks its "
        "files; make sure that it runs"
    )
    alerting.judge_values([found], thresholds.bounds())
    assert not Event.objects.ongoing().exists()  # a panel that was off looks within half a minute
    Event.objects.update(crossed_at=timezone.now() - timedelta(seconds=61))
    alerting.judge_values([found], thresholds.bounds())
    assert Event.objects.ongoing().get().kind == EventKind.UNSEEN
    type(pooler).objects.filter(pk=pooler.pk).update(files_checked_at=timezone.now())
    alerting.judge_values([of_kind(EventKind.UNSEEN)], thresholds.bounds())
    assert not Event.objects.ongoing().exists()


def test_settings_that_were_rolled_back_count_with_the_pools_that_were():
    pooler = a_pooler(settings_state=PoolState.ROLLED_BACK)
    found = of_kind(EventKind.NOT_APPLIED)
    assert (found.value, found.message) == (1, "not live: its settings; the reason is on their page")
    for _ in range(2):
        a_pool(pooler=pooler, state=PoolState.FAILED)
    found = of_kind(EventKind.NOT_APPLIED)
    assert (found.value, found.message) == (3, "not live: 2 pools and its settings; the reasons are on their pages")


def test_a_failing_pool_is_an_event_with_its_reason_unless_its_cluster_is_down():
    cluster = a_cluster()
    checked(cluster)
    a_pool(cluster=cluster, state=PoolState.FAILING, state_reason="there is no database 'shop'")
    found = of_kind(EventKind.FAILING)
    assert (found.value, found.message) == (True, "there is no database 'shop'")
    checked(cluster, state="unreachable", error="connection refused")
    assert EventKind.FAILING not in {value.kind for value in metric_values.all_values({})}


def test_a_silent_console_is_down_and_says_nothing_of_its_pools():
    pool = a_pool(name="web")
    found = values_of({pool.pooler_id: ConsoleSnapshot(error="refused")})
    assert found["pooler_down", pool.pooler.name] is True
    assert ("waiting", "web") not in found


def test_judging_costs_the_same_with_one_and_three_of_each():
    def add() -> None:
        cluster = a_cluster()
        checked(cluster)
        pool = a_pool(cluster=cluster)
        snapshots[pool.pooler_id] = ConsoleSnapshot(at=1.0)

    def cost() -> int:
        alerting.judge(snapshots)  # writes each event that opens with these records, whatever is watched
        with CaptureQueriesContext(connection) as queries:
            alerting.judge(snapshots)
        return len(queries)

    snapshots: dict[uuid.UUID, ConsoleSnapshot] = {}
    add()
    once = cost()
    add()
    add()
    assert cost() == once


def test_the_values_of_three_poolers_cost_no_more_queries_than_those_of_one():
    def queries() -> int:
        snapshots = {
            pooler.pk: ConsoleSnapshot(figures={"web": PoolFigures(cl_waiting=1)}, clients=1, most_clients=2)
            for pooler in Pooler.objects.all()
        }
        with CaptureQueriesContext(connection) as asked:
            assert EventKind.CLIENT_LIMIT in {value.kind for value in metric_values.all_values(snapshots)}
        return len(asked)

    def add_pooler(name: str) -> None:
        entry = {"name": "applied_processes", "live": "1", "wanted": "2"}
        pooler = a_pooler(
            name=name,
            server_version="PgBouncer 1.18.0",
            drift=[{"where": "pooldeck.ini", "what": "it was edited"}],
            needs_restart=[entry],
        )
        a_pool(name="web", pooler=pooler, cluster=cluster)

    cluster = a_cluster()
    add_pooler("one")
    of_one = queries()
    for name in ("two", "three"):
        add_pooler(name)
    assert queries() == of_one

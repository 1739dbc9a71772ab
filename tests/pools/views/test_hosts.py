"""The pages of hosts."""

import html
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from pools.hosts import keys
from pools.models import Host, Pooler
from tests.callers import queries_of
from tests.pages import page_of
from tests.pools.hosts.fakes import HOST_KEY, a_host, answers, is_down
from tests.pools.records import a_pooler

__all__ = ["answers", "is_down"]
pytestmark = pytest.mark.django_db
TYPED = {"name": "db-1", "address": "10.9.8.7", "port": 22, "user": "postgres", "jump": ""}
FOUND = {
    "kind": "pgbouncer",
    "main_file": "/etc/pgbouncer/pgbouncer.ini",
    "ports": [6432],
    "socket_folders": [],
    "processes": [{"pid": 812, "user": "postgres", "main_file": "/etc/pgbouncer/pgbouncer.ini"}],
    "version": "PgBouncer 1.24.1",
    "unit": "pgbouncer.service",
}


def test_an_empty_list_names_the_next_step(staff: Client) -> None:
    assert "Register a host" in page_of(staff.get(reverse("host-list")))


def test_hosts_are_for_staff_alone(reader: Client, client: Client) -> None:
    host = a_host()
    for name in ("host-list", "host-create", "host-detail", "host-edit", "host-delete"):
        address = reverse(name, args=[] if name in ("host-list", "host-create") else [host.pk])
        assert (reader.get(address).status_code, client.get(address).status_code) == (403, 302)
    for name in ("host-check", "host-confirm", "host-discover"):
        assert reader.post(reverse(name, args=[host.pk])).status_code == 403
    assert reverse("host-list") not in page_of(reader.get(reverse("pool-list")))


def test_a_host_is_registered_and_its_key_confirmed(staff: Client, answers: None) -> None:
    answer = staff.post(reverse("host-create"), TYPED, follow=True)
    host = Host.objects.get()
    shown = page_of(answer)
    for words in (
        "Is this the host’s key?",
        keys.fingerprint(HOST_KEY),
        "restrict,port-forwarding,",
        "key not confirmed",
    ):
        assert words in shown
    assert "PRIVATE" not in shown
    answer = staff.post(reverse("host-confirm", args=[host.pk]), {"fingerprint": "SHA256:other"}, follow=True)
    assert "is not the fingerprint" in page_of(answer)
    fingerprint = {"fingerprint": keys.fingerprint(HOST_KEY)}
    shown = page_of(staff.post(reverse("host-confirm", args=[host.pk]), fingerprint, follow=True))
    assert ("Is this the host’s key?" in shown, "is confirmed" in shown, "Find poolers" in shown) == (False, True, True)


def test_another_key_warns(staff: Client, answers: None) -> None:
    host = a_host(host_key=keys.new_pair()[1], offered_host_key="")
    shown = page_of(staff.post(reverse("host-check", args=[host.pk]), follow=True))
    for words in ("it has another key", "The host has another key now", "Confirmed before", "don’t confirm it"):
        assert words in shown


def test_found_poolers_lead_to_their_record_or_to_the_form(staff: Client) -> None:
    host = a_host(host_key=HOST_KEY, found=[FOUND])
    shown = page_of(staff.get(reverse("host-detail", args=[host.pk])))
    for words in (
        "PgBouncer 1.24.1",
        "812 of postgres",
        "pgbouncer.service",
        "name=db-1&amp;kind=pgbouncer&amp;port=6432",
    ):
        assert words in shown
    form = page_of(staff.get(f"{reverse('pooler-create')}?kind=pgbouncer&host=10.9.8.7&port=6433&config_dir=/etc/pgb"))
    for value in ("10.9.8.7", "6433", "/etc/pgb"):
        assert f'value="{value}"' in form
    pooler = a_pooler(host=host.address, port=6432)
    assert reverse("pooler-detail", args=[pooler.pk]) in page_of(staff.get(reverse("host-detail", args=[host.pk])))


@pytest.mark.parametrize(
    ("found", "host", "client_host"),
    [
        ({"addresses": ["127.0.0.1", "::1"]}, "127.0.0.1", ""),
        ({"addresses": ["0.0.0.0", "::"]}, "10.9.8.7", ""),
        ({"addresses": ["10.9.8.8", "127.0.0.1"]}, "10.9.8.8", ""),
        ({"addresses": [], "socket_folders": ["/run/pgbouncer"]}, "/run/pgbouncer", ""),
        ({}, "10.9.8.7", ""),
        ({"addresses": ["0.0.0.0"], "jump": "outer"}, "127.0.0.1", "10.9.8.7"),
    ],
)
def test_a_found_pooler_is_watched_and_taken_over_by_its_host_in_one_click(
    staff: Client, found: dict[str, Any], host: str, client_host: str
) -> None:
    jump = a_host(found["jump"]) if "jump" in found else None
    record = a_host(host_key=HOST_KEY, found=[FOUND | found], jump=jump)
    page = page_of(staff.get(reverse("host-detail", args=[record.pk])))
    watch, take_over = (html.unescape(one) for one in re.findall(r'href="(/poolers/new/\?[^"]+)"', page))
    assert take_over == f"{watch}&take_over=%2Fetc%2Fpgbouncer%2Fpgbouncer.ini"
    form = staff.get(take_over).context["form"]
    wanted = {"host": host, "port": "6432", "delivery": "ssh", "ssh_host": str(record.pk), "name": "db-1"}
    assert {name: form.initial[name] for name in wanted} == wanted
    assert form.initial.get("client_host", "") == client_host


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ({"kind": "pgpool", "ports": [9999, 9898]}, {"port": "9999", "pcp_port": "9898"}),
        (
            {"kind": "haproxy", "ports": [5000], "control_sockets": ["/run/admin.sock"]},
            {"stats_address": "/run/admin.sock"},
        ),
    ],
)
def test_a_found_pgpool_and_a_found_haproxy_are_watched_by_what_they_are_asked_by(
    staff: Client, found: dict[str, Any], wanted: dict[str, str]
) -> None:
    record = a_host(host_key=HOST_KEY, found=[FOUND | found])
    page = page_of(staff.get(reverse("host-detail", args=[record.pk])))
    watch, take_over = (html.unescape(one) for one in re.findall(r'href="(/poolers/new/\?[^"]+)"', page))
    assert take_over.startswith(f"{watch}&take_over=")
    form = staff.get(watch).context["form"]
    assert {name: form.initial[name] for name in wanted} == wanted
    assert (form.initial["delivery"], form.initial["ssh_host"]) == ("ssh", str(record.pk))


def test_a_watched_pooler_is_taken_over_from_its_hosts_page(staff: Client) -> None:
    host = a_host(host_key=HOST_KEY, found=[FOUND])
    pooler = a_pooler(host="127.0.0.1", port=6432, config_dir="", delivery="ssh", ssh_host=host)
    a_pooler(name="same-port-elsewhere", host="127.0.0.1", port=6432, config_dir="")
    page = html.unescape(page_of(staff.get(reverse("host-detail", args=[host.pk]))))
    preview = reverse("pooler-take-over", args=[pooler.pk])
    assert f'href="{preview}?config_file=%2Fetc%2Fpgbouncer%2Fpgbouncer.ini&host={host.pk}"' in page
    Pooler.objects.filter(pk=pooler.pk).update(config_dir="/etc/pgbouncer")
    assert preview not in page_of(staff.get(reverse("host-detail", args=[host.pk])))


def test_a_found_pooler_that_is_registered_twice_is_the_one_that_is_reached_by_the_host(staff: Client) -> None:
    host = a_host(host_key=HOST_KEY, found=[FOUND])
    by_address = a_pooler(host=host.address, port=6432)
    by_host = a_pooler(host="127.0.0.1", port=6432, delivery="ssh", ssh_host=host)
    page = page_of(staff.get(reverse("host-detail", args=[host.pk])))
    links = [reverse("pooler-detail", args=[one.pk]) in page for one in (by_host, by_address)]
    assert links == [True, False]


def test_names_of_several_found_poolers_differ(staff: Client) -> None:
    host = a_host(host_key=HOST_KEY, found=[FOUND, FOUND | {"ports": [6433]}])
    page = page_of(staff.get(reverse("host-detail", args=[host.pk])))
    assert ("name=db-1-6432&" in page, "name=db-1-6433&" in page) == (True, True)


def test_poolers_are_looked_for(staff: Client, answers: None, is_down: None) -> None:
    host = a_host(host_key=HOST_KEY)
    shown = page_of(staff.post(reverse("host-discover", args=[host.pk]), follow=True))
    assert "on db-1." in shown


def test_an_unreachable_host_says_why(staff: Client, is_down: None) -> None:
    host = a_host(host_key=HOST_KEY)
    for name in ("host-check", "host-discover"):
        assert "Connection refused" in page_of(staff.post(reverse(name, args=[host.pk]), follow=True))


def test_a_host_is_edited_and_a_stale_edit_is_not_saved(staff: Client, answers: None) -> None:
    host = a_host(host_key=HOST_KEY)
    address = reverse("host-edit", args=[host.pk])
    assert staff.post(address, TYPED | {"version": 1, "port": 2222}).status_code == 302
    answer = staff.post(address, TYPED | {"version": 1, "port": 2223})
    assert (answer.status_code, Host.objects.get().port) == (409, 2222)
    assert "70000 is not a port" in page_of(staff.post(address, TYPED | {"version": 2, "port": 70000}))


def test_a_host_is_removed_after_its_name_was_typed(staff: Client) -> None:
    host, behind = a_host(), None
    behind = a_host("behind", jump=host)
    address = reverse("host-delete", args=[host.pk])
    assert "is still needed by host behind" in page_of(staff.post(address, {"name": "db-1"}))
    behind.delete()
    staff.post(address, {"name": "other"})
    assert Host.objects.exists()
    assert staff.post(address, {"name": "db-1"}).status_code == 302
    assert not Host.objects.exists()


def test_the_list_takes_as_many_queries_for_three_hosts_as_for_one(staff: Client) -> None:
    first = a_host("one")
    before = queries_of(staff, reverse("host-list"))
    for name in ("two", "three"):
        a_host(name, jump=first)
    assert queries_of(staff, reverse("host-list")) == before

"""The REST API of hosts."""

import pytest

from pools.hosts import keys
from pools.models import Host
from tests.callers import anonymous, bearer, queries_of
from tests.pools.hosts.fakes import HOST_KEY, a_host, answers, is_down

__all__ = ["answers", "is_down"]
pytestmark = pytest.mark.django_db
URL = "/api/v1/hosts/"
ASKED = {"name": "db-1", "address": "10.9.8.7", "port": 2222, "user": "postgres"}
OFFERED = {"type": "ssh-ed25519", "fingerprint": keys.fingerprint(HOST_KEY)}


def url_of(host: Host, verb: str = "") -> str:
    return f"{URL}{host.pk}/{verb}"


def test_a_host_gets_a_key_and_shows_its_own(admin, answers):
    answer = admin.post(URL, ASKED)
    host = Host.objects.get()
    assert (answer.status_code, host.private_key.startswith("-----BEGIN OPENSSH")) == (201, True)
    assert answer.json() == {
        "id": str(host.pk),
        "version": 1,
        **ASKED,
        "jump": None,
        "team": str(host.team_id),
        "shared_with": [],
        "public_key": host.public_key,
        "authorized_keys_line": keys.authorized_keys_line(host),
        "host_key": None,
        "offered_host_key": OFFERED,
        "state": "unconfirmed",
        "error": "",
        "programs": {},
        "found": [],
        "discovered_at": None,
        **{name: answer.json()[name] for name in ("checked_at", "created_at", "updated_at")},
    }
    assert "PRIVATE" not in answer.content.decode()


def test_the_key_is_confirmed_once_and_then_programs_are_found(admin, answers):
    host = a_host()
    refused = admin.post(url_of(host, "confirm-key/"), {"fingerprint": "SHA256:other"})
    assert (refused.status_code, list(refused.json())) == (400, ["fingerprint"])
    answer = admin.post(url_of(host, "confirm-key/"), {"fingerprint": OFFERED["fingerprint"]}).json()
    assert (answer["state"], answer["host_key"], answer["offered_host_key"]) == ("online", OFFERED, None)
    assert answer["programs"]["pgbouncer"]["path"].startswith("/")
    again = admin.post(url_of(host, "confirm-key/"), {"fingerprint": OFFERED["fingerprint"]})
    assert (again.status_code, "no other key" in again.json()["fingerprint"][0]) == (400, True)


def test_another_key_is_shown_and_not_taken(admin, answers):
    pinned = keys.new_pair()[1]
    host = a_host(host_key=pinned, offered_host_key="")
    answer = admin.post(url_of(host, "check/")).json()
    assert (answer["state"], answer["error"]) == ("unreachable", "it has another key")
    assert answer["host_key"]["fingerprint"] == keys.fingerprint(pinned)
    assert answer["offered_host_key"] == OFFERED


def test_an_unreachable_host_is_saved_with_the_reason(admin, is_down):
    answer = admin.post(URL, ASKED).json()
    assert (answer["state"], answer["error"].rpartition(": ")[2]) == ("unreachable", "Connection refused")
    host = Host.objects.get()
    Host.objects.update(host_key=HOST_KEY)
    found = admin.post(url_of(host, "discover/"))
    assert (found.status_code, "Connection refused" in found.json()["detail"]) == (502, True)


def test_poolers_are_found(admin, answers):
    host = a_host(host_key=HOST_KEY)
    answer = admin.post(url_of(host, "discover/"))
    assert (answer.status_code, list(answer.json())) == (200, ["results"])
    assert admin.get(url_of(host)).json()["discovered_at"]


def test_bad_values_are_named_by_field(admin, answers):
    host = a_host(host_key=HOST_KEY)
    behind = a_host("behind", jump=host)
    for change, field in (
        ({"name": "behind"}, "name"),
        ({"name": ""}, "name"),
        ({"port": 0}, "port"),
        ({"port": 70000}, "port"),
        ({"address": "-oProxyCommand=x"}, "address"),
        ({"address": "a b"}, "address"),
        ({"address": "a\nProxyCommand x"}, "address"),
        ({"address": "169.254.169.254"}, "address"),
        ({"user": "a b"}, "user"),
        ({"user": "-l"}, "user"),
        ({"user": "%h"}, "user"),
        ({"jump": str(behind.pk)}, "jump"),
        ({"jump": str(host.pk)}, "jump"),
        ({"color": "red"}, "color"),
    ):
        answer = admin.patch(url_of(host), change)
        assert (answer.status_code, list(answer.json())) == (400, [field]), change


def test_a_host_is_changed_and_removed(admin, answers):
    host = a_host(host_key=HOST_KEY)
    behind = a_host("behind", jump=host)
    answer = admin.patch(url_of(host), {"version": 1, "port": 2200})
    assert (answer.json()["port"], answer.json()["state"], answer.json()["version"]) == (2200, "online", 2)
    assert admin.patch(url_of(host), {"version": 1, "port": 2201}).status_code == 409
    refused = admin.delete(url_of(host))
    assert (refused.status_code, "needed by host behind" in refused.json()["detail"]) == (409, True)
    assert admin.delete(url_of(behind)).status_code == 204
    assert admin.delete(url_of(host)).status_code == 204


def test_the_list_takes_as_many_queries_for_three_hosts_as_for_one(admin):
    a_host("one")
    before = queries_of(admin, URL)
    for name in ("two", "three"):
        a_host(name)
    assert queries_of(admin, URL) == before


def test_access_is_for_admins_alone(admin):
    host = a_host()
    assert anonymous().get(URL).status_code == 401
    for client in (bearer("read"), bearer("read", "run", "apply")):
        assert [client.get(one).status_code for one in (URL, url_of(host))] == [403, 403]
        assert client.post(url_of(host, "check/")).status_code == 403
    assert admin.get(f"{URL}{host.pk.hex[:-1]}0/").status_code == 404
    assert admin.get(url_of(host, "check/")).status_code == 405

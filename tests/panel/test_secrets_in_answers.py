"""No password, key or secret of a configuration is in any answer, whoever asks, but for those who ask to reveal it."""

import base64
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import LazySettings
from django.test import Client

from benchmarks.models import ExternalEndpoint
from core.accounts.models import ApiToken
from pools.models import Cluster, NotificationChannel, Pooler, PoolerFile, PoolerState, Revision, RevisionState
from pools.monitoring import sampler
from pools.monitoring.sampler import ConsoleSnapshot
from pools.poolers import KINDS
from tests.callers import bearer, person
from tests.certificates import self_signed
from tests.panel import every_record
from tests.panel.every_answer import pages, reads_of_the_api, streams

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("nothing_leaves")]
NAMES = (
    "admin",
    "role",
    "console",
    "pgpool",
    "external",
    "external-console",
    "entry",
    "userlist",
    "ldap",
    "hba",
    "key",
    "channel",
)
CANARIES = {name: f"cánary/{name}+7f3a9c'\"e1d2" for name in NAMES}
IN_CONFIG = {name: f"canary-{name}-7f3a9ce1d2" for name in ("entry", "userlist", "ldap", "hba", "setting")}
CANARIES |= IN_CONFIG
CANARIES["channel"] = "canary-channel-7f3a9ce1d2"  # in an address
FILES = {
    "pooldeck.ini": f"[databases]\nzqpool = host='a' password='{IN_CONFIG['entry']}' pool_size=3\n",
    "userlist.txt": f'"app" "{IN_CONFIG["userlist"]}"\n',
    "pooldeck_settings.ini": f"auth_ldap_options = ldapbindpasswd={IN_CONFIG['ldap']}\n",
}
PRIVATE_KEY, _certificate = self_signed("zq")
HBA = f"host all all 10.0.0.0/8 ldap ldapbindpasswd={IN_CONFIG['hba']}\n"
CONFIG = [  # Settings of the operator's own file in the form of SHOW CONFIG.
    {
        "key": "auth_ldap_options",
        "value": f'ldapurl="ldap://h" ldapbindpasswd={IN_CONFIG["ldap"]}',
        "changeable": "yes",
    },
    {"key": "health_check_password", "value": IN_CONFIG["setting"], "default": "", "changeable": "yes"},
    {"key": "max_client_conn", "value": "100", "default": "100", "changeable": "yes"},
]


def written(secret: str) -> set[bytes]:
    """The secret as it is, and as URLs, JSON, HTML and base64 have it."""
    forms = {secret, quote(secret, safe=""), quote(secret), json.dumps(secret)[1:-1], secret.replace("'", "&#x27;")}
    forms |= {json.dumps(secret, ensure_ascii=False)[1:-1], secret.replace("'", "&#x27;").replace('"', "&quot;")}
    return {form.encode() for form in forms} | {base64.b64encode(secret.encode()).rstrip(b"=")[:-1]}


CANARIES["key"] = PRIVATE_KEY.splitlines()[2]
FORMS = {name: written(secret) for name, secret in CANARIES.items()}


@pytest.fixture
def records(settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A record of each kind, and a secret in each place that may hold one; the console of a PgBouncer answers."""
    found = every_record.records(person("zquser"))
    cluster, pooler = Cluster.objects.get(pk=found["cluster"]), Pooler.objects.get(pk=found["pooler"])
    cluster.admin_password = CANARIES["admin"]
    cluster.save()
    cluster.keep_password("zqrole", CANARIES["role"])
    for one, name in ((pooler, "console"), (Pooler.objects.get(pk=found["pgpool"]), "pgpool")):
        one.admin_password = CANARIES[name]
        one.state, one.server_version = PoolerState.ONLINE, "1.26.1"
        one.save()
    external = ExternalEndpoint.objects.get(pk=found["external"])
    external.password, external.console_user = CANARIES["external"], "console"
    external.console_password = CANARIES["external-console"]
    external.save()
    channel = NotificationChannel.objects.get(pk=found["channel"])
    channel.url = f"ntfys://user:{CANARIES['channel']}@127.0.0.1:1/zqtopic"
    channel.save()
    for setting, content in (("client_tls_key_file", PRIVATE_KEY), ("auth_hba_file", HBA)):
        file = PoolerFile(pooler=pooler, setting=setting)
        file.content = content
        file.save()
    for _ in range(2):
        given = {"client_tls_key_file": PRIVATE_KEY, "auth_hba_file": HBA}
        Revision.objects.draft(pooler, FILES, given=given).finish(RevisionState.APPLIED, "")
    settings.WEBHOOK_SECRET = settings.EMAIL_HOST_PASSWORD = CANARIES["setting"]
    monkeypatch.setitem(vars(KINDS["pgbouncer"]), "show", lambda *_asked: CONFIG)
    monkeypatch.setattr(sampler, "latest", lambda *_asked: ConsoleSnapshot())
    return found | {"word": "config"}


def found_in(answers: Iterator[tuple[str, Any]]) -> tuple[int, list[str]]:
    """How many answers were read, and each secret that one of them has."""
    read, leaks = 0, []
    for url, answer in answers:
        body, read = answer.getvalue(), read + 1
        leaks += [f"{name} in {url}" for name, forms in FORMS.items() if any(form in body for form in forms)]
    return read, leaks


def files_of(records: dict[str, Any]) -> str:
    """The files that a pooler shall have, which programs fetch with their secrets: scope `apply`."""
    return f"/api/v1/poolers/{records['pooler']}/files/"


def without_files(answers: Iterator[tuple[str, Any]], records: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((url, answer) for url, answer in answers if url != files_of(records))


def consoles(caller: Client, records: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for url in (
        f"/poolers/{records['pooler']}/console/config/",
        f"/poolers/{records['pooler']}/console/config/?as=csv",
        f"/poolers/{records['pooler']}/settings/",
    ):
        yield url, caller.get(url)


@pytest.mark.parametrize("staff", [False, True])
def test_no_page_shows_a_secret(records: dict[str, Any], staff: bool) -> None:
    browser = Client()
    browser.force_login(person("zqreader", staff=staff))
    read, leaks = found_in(pages(browser, records))
    more, of_consoles = found_in(consoles(browser, records))
    assert (read > 100, more, leaks + of_consoles) == (True, 3, [])


@pytest.mark.parametrize("scopes", [("read",), ("read", "run", "apply")], ids="+".join)
def test_no_answer_to_a_token_has_a_secret(records: dict[str, Any], scopes: tuple[str, ...]) -> None:
    caller = bearer(*scopes)
    caller.get("/api/schema/")
    others = ((url, caller.get(url)) for url in ("/metrics", "/api/docs/", "/api/schema/"))
    shown = f"/api/v1/poolers/{records['pooler']}/show/config/"
    assert caller.get(shown).json()["results"][2]["value"] == "100"
    read, leaks = found_in(without_files(reads_of_the_api(caller, records), records))
    more, of_others = found_in(iter([*others, (shown, caller.get(shown)), *streams(scopes, records)]))
    assert (read > 50, more >= 5, leaks + of_others) == (True, True, [])


def test_an_admin_who_asks_for_no_password_gets_none(records: dict[str, Any]) -> None:
    answers = without_files(reads_of_the_api(bearer(), records), records)
    assert found_in((url, answer) for url, answer in answers if not url.startswith("/v2/"))[1] == []


def test_the_search_finds_what_is_revealed(records: dict[str, Any]) -> None:
    url = f"/api/v1/pools/{records['pool']}/connection/?as=uri&reveal=1"
    assert found_in(iter([(url, bearer().get(url))]))[1] == [f"role in {url}"]
    below = f"/v2/databases/{records['cluster']}"
    leaks = found_in(iter([(below, bearer("admin").get(below))]))[1]
    assert leaks == [f"admin in {below}", f"role in {below}"]
    files = files_of(records)
    assert found_in(iter([(files, bearer("read", "run").get(files))]))[1] == []
    leaks = found_in(iter([(files, bearer("apply").get(files))]))[1]
    assert leaks == [f"{name} in {files}" for name in ("entry", "userlist", "ldap")]
    assert ApiToken.objects.exists()

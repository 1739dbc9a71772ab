"""Every page in a pseudo-locale: what a person reads on it has passed gettext, or is data."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.urls import URLResolver, get_resolver, reverse
from django.utils import timezone

from benchmarks.generators import heartbeats
from tests import callers
from tests.panel import every_record, pseudo_locale, shown_texts

pytestmark = pytest.mark.django_db
# files and JSON; documentation and API docs, in English; nodes, of which only a Pgpool-II that answers has any
NO_PAGE = {"healthz-live", "healthz-ready", "metrics", "api-schema", "api-docs", "run-export", "run-course"}
NO_PAGE |= {"pooler-node-attach", "pooler-node-detach", "help", "help-page"}
WORDS = {"source": "pool", "word": "pools", "name": "zqgenerator", "setting": "auth_hba_file", "kind": "html"}
OTHER_WORDS = {
    "session-end": {"pid": 4242, "word": "terminate"},
    "team-of": {"kind": "cluster"},
    "pool-verb": {"word": "pause"},
    "entry-verb": {"word": "pause"},
    "playbook-detail": {"name": "zqplaybook"},
    "playbook-delete": {"name": "zqplaybook"},
    "playbook-history": {"name": "zqplaybook"},
    "pooler-fetch-example": {"name": "ansible.yml"},
}
OTHER_KEYS = {"pooler-nodes": "pgpool", "advice-apply": "experiment", "script-tried": "dry_run"}
OTHER_KEYS |= {"mfa_edit_webauthn": "passkey", "mfa_remove_webauthn": "passkey"}
OTHER_KEYS |= {"team-of": "cluster", "session-end": "cluster"}
OTHER_KEYS |= {"pooler-fetches": "pulled", "pooler-fetch-example": "pulled"}
OTHER_KEYS |= {"sign-on-unlink": "linked"}
QUERIES = {
    "schedule-create": "?run={run}",
    "run-compare": "?run={run}&run={other_run}",
    "run-create": "?pool={pool}",
    "pool-create": "?cluster={cluster}&pooler={pooler}",
    "pool-choices": "?cluster={cluster}",
    "pool-further": "?pooler={pooler}",
    "cluster-database-edit": "?name=zqdatabase",
    "cluster-role-edit": "?name=zqrole",
    "session-end": "?started=2026-01-31T12:00:00Z",
}
FORMS = (
    "-create",
    "-edit",
    "-add",
    "-import",
    "-propose",
    "-thresholds",
    "-settings",
    "token-list",
    "team-token-list",
    "run-links",
    "experiment-links",
)
WRONG = {"size": "x", "port": "x", "name": ""}


def pages(resolver: URLResolver) -> Iterator[tuple[str, str, list[str]]]:
    """Each page's app and name, and the names of what its address holds."""
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            yield from () if str(entry.pattern).startswith("api/") else pages(entry)
        elif entry.name and entry.name not in NO_PAGE and not str(entry.pattern).startswith("api/"):
            yield entry.callback.__module__.split(".")[0], entry.name, list(entry.pattern.converters)


PAGES = list(pages(get_resolver()))


@pytest.fixture
def admin(client: Client, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A browser that reads the pseudo-locale; a generator is alive, and no server answers."""
    pseudo_locale.speak(monkeypatch)
    alive = [heartbeats.Heartbeat("zqgenerator", timezone.now())]
    monkeypatch.setattr(heartbeats, "seen", lambda: alive)
    monkeypatch.setattr(heartbeats, "missing", lambda: ["tasks", "runs"])
    monkeypatch.setattr(heartbeats, "stalls_s", lambda: {"zqgenerator": 30.0})
    client.force_login(User.objects.create_superuser("zquser"))
    return client


@pytest.fixture
def records(admin: Client) -> dict[str, Any]:
    """A record for each page that needs one."""
    return every_record.records(User.objects.get(username="zquser"))


def address(name: str, kept: list[str], records: dict[str, Any]) -> str:
    key = records.get(OTHER_KEYS.get(name, name.split("-")[0]))
    values = {
        "pk": key,
        "pool": records["pool"],
        "node": records["node"],
        "member": records["member"],
        "number": records["number"],
        **WORDS,
        "token": records["shared"],
        **OTHER_WORDS.get(name, {}),
    }
    return reverse(name, kwargs={one: values[one] for one in kept})


def untranslated(answer: HttpResponse) -> list[str]:
    """The texts of a page that passed no gettext; none of a redirect or a file."""
    if "html" not in answer.headers.get("Content-Type", ""):
        return []
    return shown_texts.untranslated(answer.content.decode())


def in_lines(found: dict[str, list[str]]) -> str:
    return "\n".join(f"{name}: {text}" for name, texts in found.items() for text in dict.fromkeys(texts))


@pytest.mark.parametrize("app", sorted({app for app, _, _ in PAGES}))
def test_pages_show_only_texts_that_passed_gettext(admin: Client, records: dict[str, Any], app: str) -> None:
    found: dict[str, list[str]] = {}
    for _, name, kept in (page for page in PAGES if page[0] == app):
        url = address(name, kept, records)
        answer = admin.get(url + QUERIES.get(name, "").format(**records))
        # 302 leads back to a list where no server answers, 405 wants a POST
        assert answer.status_code in (200, 302, 405, 409, 410, 502, 503), (name, answer.status_code)
        found[name] = untranslated(answer)
        if name.endswith(FORMS) and answer.status_code == 200:
            found[f"{name} refused"] = untranslated(admin.post(url, WRONG))
    assert not any(found.values()), in_lines(found)


def test_an_empty_panel_shows_only_texts_that_passed_gettext(admin: Client) -> None:
    names = [name for _, name, kept in PAGES if not kept and name.endswith(("-list", "dashboard", "installation"))]
    assert {"dashboard", "cluster-list", "run-list"} <= set(names)
    found = {name: untranslated(admin.get(reverse(name))) for name in names}
    assert not any(found.values()), in_lines(found)


@pytest.mark.parametrize("name", ["dashboard", "installation", "cluster-list"])
def test_a_paused_panel_shows_only_texts_that_passed_gettext(admin: Client, records: Any, name: str) -> None:
    every_record.pause_the_panel()
    assert untranslated(admin.get(reverse(name))) == []


def test_refusals_show_only_texts_that_passed_gettext(admin: Client) -> None:
    reader = Client()
    reader.force_login(callers.person("zqreader", staff=False))
    found = [admin.get("/nothing/"), reader.get("/clusters/new/"), Client().get("/login/"), Client().post("/login/")]
    assert [answer.status_code for answer in found] == [404, 403, 200, 200]
    assert [untranslated(answer) for answer in found] == [[], [], [], []]


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("<p>Two words</p>", ["Two words"]),
        (f"<p>{pseudo_locale.pseudo('Two words, %(n)d times')} zqpool</p>", []),
        (f"<p>{pseudo_locale.pseudo('a pool')} on the pooler zqpooler</p>", ["⟦á þóóĺ⟧ on the pooler zqpooler"]),
        ('<p title="Two words">1 ms</p>', ['title="Two words"']),
        ("<p><code>two words</code> <time>two words</time> <b translate='no'>two words</b></p>", []),
        ("<p>pgbench -T 5 --jobs=2 pool_size /etc/pgbouncer 127.0.0.1</p>", []),
    ],
)
def test_untranslated_words_are_found(page: str, found: list[str]) -> None:
    assert shown_texts.untranslated(page) == found

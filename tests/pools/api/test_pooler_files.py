"""The files that a pooler shall have, as programs fetch them: their forms, their ETag, and who may read them."""

import io
import tarfile
import time
from datetime import timedelta

import pytest
from django.test import Client

from core.accounts import confirmation
from core.accounts.models import ApiToken
from pools.models import FileFetch, Pooler, PoolState, Revision, RevisionState
from tests.callers import anonymous, bearer, person, queries_of
from tests.pools.api.conftest import NOBODY_LISTENS, make_pool, make_pooler

pytestmark = pytest.mark.django_db
FILES = {
    "pooldeck.ini": "[databases]\norders = password='s3cret-of-orders'\n",
    "userlist.txt": '"orders" "s3cret-of-orders"\n',
}

PULLED = {
    "name": "pulled",
    "kind": "pgbouncer",
    "host": "127.0.0.1",
    "port": NOBODY_LISTENS,
    "admin_user": "pooldeck",
    "admin_password": "console",
    "config_dir": "/pooldeck",
    "delivery": "pull",
}


def url_of(pooler, path="files/"):
    return f"/api/v1/poolers/{pooler.pk}/{path}"


def apply(pooler, files=FILES):
    revision = Revision.objects.draft(pooler, files)
    revision.finish(RevisionState.APPLIED)
    return revision


def sends(token):
    return {"HTTP_AUTHORIZATION": f"Bearer {token}"}


@pytest.fixture
def fetcher(pooler):
    """A client with the token of a program that fetches the pooler's files."""
    made = bearer().post(url_of(pooler, "files-token/"), {"name": "db-1"}, "json")
    assert made.status_code == 201
    client = anonymous()
    client.credentials(**sends(made.json()["token"]))
    return client


def test_the_files_of_the_live_revision_are_given_with_their_secrets(pooler):
    apply(pooler)
    answer = bearer("apply").get(url_of(pooler))
    assert answer.status_code == 200
    assert answer.json() == {"files": [{"name": name, "content": text} for name, text in sorted(FILES.items())]}
    assert (answer["Cache-Control"], answer["X-Pooldeck-Revision"]) == ("no-store", "1")
    assert answer.content == bearer("apply").get(url_of(pooler) + "?as=json").content


def test_a_tar_holds_the_files_and_nothing_of_whoever_packed_it(pooler):
    apply(pooler)
    answer = bearer("apply").get(url_of(pooler) + "?as=tar")
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/x-tar")
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as tar:
        members = tar.getmembers()
        found = {one.name: tar.extractfile(one).read().decode() for one in members}
    assert found == FILES
    assert {(one.mode, one.mtime, one.uname, one.gname, one.uid, one.gid) for one in members} == {
        (0o600, 0, "", "", 0, 0)
    }


@pytest.mark.parametrize("kind", ["json", "tar"])
def test_the_etag_is_that_of_the_contents(pooler, kind):
    first, client = apply(pooler), bearer("apply")
    url = f"{url_of(pooler)}?as={kind}"
    answer = client.get(url)
    etag = answer["ETag"]
    assert etag.startswith('"')  # a strong one
    same = client.get(url, HTTP_IF_NONE_MATCH=etag)
    assert (same.status_code, same.content, same["ETag"], same["Cache-Control"]) == (304, b"", etag, "no-store")
    again = apply(pooler)
    assert (first.number, again.number) == (1, 2)
    assert client.get(url, HTTP_IF_NONE_MATCH=etag).status_code == 304  # another revision of the same files
    apply(pooler, FILES | {"userlist.txt": ""})
    changed = client.get(url, HTTP_IF_NONE_MATCH=etag)
    assert changed.status_code == 200
    assert changed["ETag"] != etag
    assert client.get(url, HTTP_IF_NONE_MATCH=f'"other", {changed["ETag"]}').status_code == 304


def test_bytes_that_are_not_utf_8_are_packed_as_they_are(pooler):
    apply(pooler, {"userlist.txt": '"caf\udce9" "x"\n'})
    answer = bearer("apply").get(url_of(pooler) + "?as=tar")
    assert b'"caf\xe9" "x"\n' in answer.content
    assert bearer("apply").get(url_of(pooler)).json()["files"][0]["content"] == '"caf\udce9" "x"\n'


def test_a_pooler_without_a_revision_has_no_files_and_a_watched_one_none_at_all(pooler):
    answer = bearer("apply").get(url_of(pooler))
    assert (answer.status_code, answer.json()) == (200, {"files": []})
    assert "X-Pooldeck-Revision" not in answer
    watched = make_pooler("watched")
    Pooler.objects.filter(pk=watched.pk).update(config_dir="")
    assert bearer("apply").get(url_of(watched)).status_code == 409
    assert bearer().post(url_of(watched, "files-token/"), {}, "json").status_code == 409


def test_who_may_read_the_files(pooler, admin):
    apply(pooler)
    assert anonymous().get(url_of(pooler)).status_code == 401
    assert bearer("read", "run").get(url_of(pooler)).status_code == 403
    browser = Client()
    browser.force_login(person())
    assert browser.get(url_of(pooler)).status_code == 403  # a session that has not confirmed its password lately
    assert admin.get(url_of(pooler) + "?as=zip").json().keys() == {"as"}
    assert admin.patch(url_of(pooler), {}, "json").status_code == 405
    assert admin.get("/api/v1/poolers/00000000-0000-4000-8000-000000000000/files/").status_code == 404


def test_a_limited_token_reads_the_files_of_its_pooler_and_nothing_else(pooler, fetcher):
    other = make_pooler("other")
    apply(pooler)
    apply(other)
    assert fetcher.get(url_of(pooler)).status_code == 200
    assert fetcher.get(url_of(pooler) + "?reveal=1").status_code == 403
    for url in (
        *(url_of(pooler, ""), url_of(pooler, "config/"), url_of(pooler, "revisions/")),
        *("/api/v1/poolers/", "/api/v1/pools/", "/api/v1/clusters/", "/api/v1/tokens/", "/api/v1/events/"),
        *("/api/v1/runs/", "/v2/databases", "/metrics", "/api/schema/", "/api/docs/"),
    ):
        assert fetcher.get(url).status_code in (401, 403), url
    assert fetcher.get(url_of(other)).status_code == 404  # as what lies beyond the limit of any token
    for path in ("apply/", "files/", "files-token/", "rollback/"):
        assert fetcher.post(url_of(pooler, path), {}, "json").status_code == 403, path
    assert fetcher.delete(url_of(pooler, "")).status_code == 403


def test_a_limited_token_is_listed_revoked_and_not_made_by_one_that_lacks_the_scope(pooler, fetcher):
    admin, token = bearer(), ApiToken.objects.get(limited_to=pooler.pk)
    shown = admin.get(f"/api/v1/tokens/{token.pk}/").json()
    assert (shown["name"], shown["scopes"], shown["limited_to"]) == ("db-1", ["apply"], str(pooler.pk))
    assert bearer("apply").post(url_of(pooler, "files-token/"), {}, "json").status_code == 403
    assert admin.post(url_of(pooler, "files-token/"), {"scopes": ["admin"]}, "json").json().keys() == {"scopes"}
    past = admin.post(url_of(pooler, "files-token/"), {"expires_at": "2001-01-01T00:00:00Z"}, "json")
    assert past.json().keys() == {"expires_at"}
    named = admin.post(url_of(pooler, "files-token/"), {}, "json").json()
    assert (named["name"], named["limited_to"]) == ("files of front", str(pooler.pk))
    token.revoke()
    assert fetcher.get(url_of(pooler)).status_code == 401


def test_a_pooler_is_pending_while_anything_of_it_is_not_verified(admin, cluster, pooler):
    def pending():
        return admin.get(url_of(pooler, "")).json()["pending"]

    pool = make_pool(cluster, pooler)
    assert pending() is False
    pool.state = PoolState.PENDING
    pool.save(update_fields=["state"])
    assert pending() is True
    pool.state, pool.removal_requested_at = PoolState.APPLIED, pool.created_at
    pool.save(update_fields=["state", "removal_requested_at"])
    assert pending() is True
    pool.delete()
    Pooler.objects.update(settings_state=PoolState.PENDING)
    assert pending() is True
    Pooler.objects.update(settings_state=PoolState.ROLLED_BACK)
    assert pending() is False


def test_what_is_pending_is_asked_for_all_rows_at_once(admin, cluster, pooler):
    make_pool(cluster, pooler, state=PoolState.PENDING)
    once = queries_of(admin, "/api/v1/poolers/")
    for name in ("second", "third"):
        make_pool(cluster, make_pooler(name))
    assert queries_of(admin, "/api/v1/poolers/") == once
    listed = admin.get("/api/v1/poolers/?ordering=name").json()["results"]
    assert [one["pending"] for one in listed] == [True, False, False]


def test_a_pulled_pooler_that_has_no_pool_yet_can_start_on_its_files(admin):
    made = admin.post("/api/v1/poolers/", PULLED, "json")
    assert (made.status_code, made.json()["delivery"], made.json()["management"]) == (201, "pull", "managed")
    files = {one["name"]: one["content"] for one in admin.get(url_of(Pooler.objects.get())).json()["files"]}
    assert sorted(files) == ["pooldeck.ini", "pooldeck_settings.ini", "pooldeck_userlist.txt"]
    assert '"pooldeck" "console"\n' in files["pooldeck_userlist.txt"]


def test_the_first_fetch_of_an_offer_is_recorded(pooler):
    Pooler.objects.update(delivery="pull")
    apply(pooler)
    offer = Revision.objects.draft(pooler, FILES | {"pooldeck.ini": "[databases]\n"})
    offer.offer()
    answer = bearer("apply").get(url_of(pooler))
    assert (answer["X-Pooldeck-Revision"], answer.json()["files"][0]["content"]) == ("2", "[databases]\n")
    offer.refresh_from_db()
    first = offer.fetched_at
    assert first is not None
    bearer("apply").get(url_of(pooler))
    offer.refresh_from_db()
    assert offer.fetched_at == first


def test_who_fetched_what_is_listed_with_how_far_it_is_verified(admin, pooler, fetcher):
    def listed():
        rows = admin.get(url_of(pooler, "fetches/")).json()["results"]
        return [(one["token_name"], one["state"], one["revision"], one["fetched_at"] is not None) for one in rows]

    Pooler.objects.update(delivery="pull")
    assert listed() == [("db-1", "never", None, False)]
    etag = fetcher.get(url_of(pooler))["ETag"]
    assert listed() == [("db-1", "first", None, True)]
    offer = Revision.objects.draft(pooler, FILES)
    offer.offer()
    assert listed() == [("db-1", "outdated", None, True)]
    assert fetcher.get(url_of(pooler), HTTP_IF_NONE_MATCH=etag).status_code == 200
    assert listed() == [("db-1", "pending", 1, True)]
    offer.finish(RevisionState.APPLIED)
    assert listed() == [("db-1", "verified", 1, True)]
    bearer("apply").get(url_of(pooler))
    assert [one[:2] for one in listed()] == [("test", "verified"), ("db-1", "verified")]


def test_who_fetched_what_is_for_admins_as_other_lists_of_tokens_are(pooler, fetcher):
    for scopes in (("read",), ("read", "apply"), ("run",)):
        assert bearer(*scopes).get(url_of(pooler, "fetches/")).status_code == 403
    assert fetcher.get(url_of(pooler, "fetches/")).status_code == 403


def test_a_304_says_that_the_files_are_there_and_writes_once_a_minute(pooler, fetcher):
    apply(pooler)
    etag = fetcher.get(url_of(pooler))["ETag"]
    first = FileFetch.objects.get()
    assert fetcher.get(url_of(pooler), HTTP_IF_NONE_MATCH=etag).status_code == 304
    assert FileFetch.objects.get().asked_at == first.asked_at
    FileFetch.objects.update(asked_at=first.asked_at - timedelta(minutes=2))
    assert fetcher.get(url_of(pooler), HTTP_IF_NONE_MATCH=etag).status_code == 304
    again = FileFetch.objects.get()
    assert again.asked_at > first.asked_at - timedelta(minutes=2)
    assert again.fetched_at == first.fetched_at
    second = apply(pooler)  # An apply of the same files follows.
    assert fetcher.get(url_of(pooler), HTTP_IF_NONE_MATCH=etag).status_code == 304
    assert FileFetch.objects.get().revision == second


def test_a_person_who_looks_at_the_files_fetched_nothing(pooler, client):
    apply(pooler)
    client.force_login(person())
    session = client.session
    session[confirmation.CONFIRMED_AT] = time.time()
    session.save()
    assert client.get(url_of(pooler)).status_code == 200
    assert not FileFetch.objects.exists()


UNFETCHABLE = [{"kind": "pgpool", "pcp_port": 9898}, {"kind": "haproxy"}]


@pytest.mark.parametrize("change", [*UNFETCHABLE, {"delivery": "post"}])
def test_a_delivery_that_can_not_be_is_refused(admin, change):
    answer = admin.post("/api/v1/poolers/", PULLED | change, "json")
    assert (answer.status_code, list(answer.json())) == (400, ["delivery"])


@pytest.mark.parametrize("change", UNFETCHABLE)
def test_the_form_says_why_the_files_of_another_kind_can_not_be_fetched(client, change):
    client.force_login(person())
    answer = client.post("/poolers/new/", PULLED | {"client_host": "", "client_port": "", "generator": ""} | change)
    label = {"pgpool": "Pgpool-II", "haproxy": "HAProxy"}[change["kind"]]
    reason = f"the files of a {label} can't be fetched by its host, since it does not show what it runs with"
    assert (answer.status_code, answer.context["form"].errors["delivery"][0].startswith(reason)) == (200, True)
    assert not Pooler.objects.exists()


def test_the_form_offers_the_delivery(client):
    client.force_login(person())
    assert b'<option value="pull"' in client.get("/poolers/new/").content
    answer = client.post("/poolers/new/", PULLED | {"client_host": "", "client_port": "", "generator": ""})
    assert answer.status_code == 302
    assert Pooler.objects.get().delivery == "pull"

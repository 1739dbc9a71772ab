"""How a pooler's files are fetched, on its page; with real ones: tests/live/pools/deployment/test_pull.py."""

import re
import subprocess

import pytest
import yaml
from django.test import Client

from core.accounts.models import ApiToken
from pools.models import FileFetch, Revision, RevisionState
from tests.callers import anonymous, person, queries_of
from tests.pages import page_of
from tests.pools.records import a_pooler

TITLE = "How to fetch these files"


@pytest.fixture
def pulled(db):
    return a_pooler(name="front", config_dir="/srv/pg files", delivery="pull")


def url_of(pooler, path=""):
    return f"/poolers/{pooler.pk}/{path}"


def token_of(pooler, name="db-1"):
    ApiToken.objects.issue(person(), name, ["apply"], limited_to=pooler.pk)
    return ApiToken.objects.get(name=name)


def test_the_page_has_the_command_with_the_address_and_the_folder(staff, pulled):
    answer = staff.get(url_of(pulled))
    command = answer.context["fetch_card"]["command"]
    assert "umask 077 && cd '/srv/pg files' &&" in command
    assert f"'http://testserver/api/v1/poolers/{pulled.pk}/files/?as=tar'" in command
    steps = ("tar -x", "chown --no-dereference --reference=.", "systemctl", "mv .etag")
    assert sorted(steps, key=command.index) == list(steps)
    assert "pd_" not in command
    page = page_of(answer)
    assert TITLE in page
    assert "<dt>Delivery</dt><dd>its host fetches them</dd>" in page
    assert "<dt>Generator</dt>" not in page
    for name in ("pooldeck-fetch.sh", "kubernetes.yaml", "ansible.yml"):
        assert f'href="{url_of(pulled)}fetch-examples/{name}"' in page


@pytest.mark.parametrize("fields", [{"delivery": "worker"}, {"delivery": "pull", "config_dir": ""}])
def test_poolers_whose_files_nobody_fetches_have_no_such_card(staff, db, fields):
    pooler = a_pooler(**fields)
    assert TITLE not in page_of(staff.get(url_of(pooler)))
    assert staff.get(url_of(pooler, "fetch-examples/ansible.yml")).status_code == 404


def test_a_token_for_the_files_is_shown_once_and_reads_nothing_else(staff, pulled):
    made = staff.post(url_of(pulled, "files-token/"), {"name": "db-1", "lifetime_days": "30"})
    assert made.status_code == 200
    assert "no-store" in made["Cache-Control"]
    text = re.search(rb'value="(pd_[^"]+)"', made.content)[1].decode()
    assert f'data-copy="{text}"' in page_of(made)
    assert text not in page_of(staff.get(url_of(pulled)))
    token = ApiToken.objects.get()
    assert (token.name, token.scopes, token.limited_to) == ("db-1", ["apply"], pulled.pk)
    assert (token.expires_at - token.created_at).days in (29, 30)
    files = anonymous().get(f"/api/v1/poolers/{pulled.pk}/files/", HTTP_AUTHORIZATION=f"Bearer {text}")
    assert files.status_code == 200
    assert anonymous().get("/api/v1/pools/", HTTP_AUTHORIZATION=f"Bearer {text}").status_code == 403


def test_a_token_without_a_name_is_named_after_the_pooler_and_has_no_end(staff, pulled):
    staff.post(url_of(pulled, "files-token/"), {"lifetime_days": "0"})
    token = ApiToken.objects.get()
    assert (token.name, token.expires_at) == ("files of front", None)


def test_a_name_that_is_too_long_is_told_and_kept(staff, pulled):
    answer = staff.post(url_of(pulled, "files-token/"), {"name": "x" * 101, "lifetime_days": "0"})
    assert answer.status_code == 422
    assert "at most 100 characters" in page_of(answer)
    assert f'value="{"x" * 101}"' in page_of(answer)
    assert not ApiToken.objects.exists()


def test_who_may_make_a_token(staff, reader, pulled):
    url = url_of(pulled, "files-token/")
    assert "Create a token" not in page_of(reader.get(url_of(pulled)))
    assert reader.post(url, {"lifetime_days": "0"}).status_code == 403
    assert Client().post(url).url.startswith("/login/")
    assert staff.get(url).status_code == 405
    assert staff.post("/poolers/5f0c1f0e-0000-4000-8000-000000000000/files-token/").status_code == 404
    watched = a_pooler(config_dir="", delivery="pull")
    refused = staff.post(url_of(watched, "files-token/"), {"lifetime_days": "0"}, follow=True)
    assert "is only watched" in page_of(refused)
    assert not ApiToken.objects.exists()


def test_the_page_says_what_was_fetched_by_which_token_and_whether_it_is_verified(staff, pulled):
    token = token_of(pulled)

    def shown():
        return page_of(staff.get(url_of(pulled, "fetches/")))

    assert "No pool yet" in shown()
    assert "never fetched" in shown()
    offer = Revision.objects.draft(pulled, {"pooldeck.ini": ""})
    offer.offer()
    FileFetch.objects.note(pulled, token, None, transferred=True)
    assert "Revision 1 is offered, and is not seen in the pooler yet." in shown()
    assert "older files" in shown()
    FileFetch.objects.note(pulled, token, offer, transferred=True)
    assert "pending" in shown()
    assert "revision 1" in shown()
    offer.finish(RevisionState.APPLIED)
    assert "The console shows the files of revision 1." in shown()
    assert shown().count("verified") == 2
    token.revoke()
    assert "no longer valid" in shown()


def test_only_staff_sees_which_tokens_fetch(staff, reader, pulled):
    token = token_of(pulled)
    FileFetch.objects.note(pulled, token, None, transferred=True)
    for path in ("", "fetches/"):
        assert token.prefix in page_of(staff.get(url_of(pulled, path)))
        page = page_of(reader.get(url_of(pulled, path)))
        assert "No pool yet" in page
        assert token.prefix not in page
        assert token.name not in page
        assert "there is no token" not in page


def test_no_token_is_made_for_files_that_nobody_fetches_any_more(staff, pulled):
    pulled.edit(None, delivery="worker")
    refused = staff.post(url_of(pulled, "files-token/"), {"lifetime_days": "0"}, follow=True)
    assert "No token was created: the files of front are now written for it instead of" in page_of(refused)
    assert not ApiToken.objects.exists()


def test_a_token_goes_with_its_fetches(pulled):
    token = token_of(pulled)
    FileFetch.objects.note(pulled, token, None, transferred=True)
    token.delete()
    assert not FileFetch.objects.exists()


@pytest.mark.parametrize("name", ["pooldeck-fetch.sh", "kubernetes.yaml", "ansible.yml"])
def test_an_example_has_the_address_the_id_and_the_folder_filled_in(staff, db, name):
    pooler = a_pooler(name="front", config_dir="/srv/files", delivery="pull")
    answer = staff.get(url_of(pooler, f"fetch-examples/{name}"))
    text = answer.content.decode()
    assert answer["Content-Disposition"] == f'attachment; filename="{name}"'
    assert "pooldeck.example.com" not in text
    assert "http://testserver" in text
    assert not re.search(r"poolers/ID/|\bID$|\"ID\"", text.replace("POST /api/v1/poolers/ID", ""), re.M)
    if name == "kubernetes.yaml":
        _config, _service, deployment = yaml.safe_load_all(text)
        pod = deployment["spec"]["template"]["spec"]
        told = {one["name"]: one["value"] for one in pod["initContainers"][0]["env"]}
        assert told == {
            "POOLDECK_URL": "http://testserver",
            "POOLDECK_POOLER": str(pooler.pk),
            "POOLDECK_TOKEN_FILE": "/token/token",
            "FILES": "/srv/files",
            "PID_FILE": "/srv/files/pgbouncer.pid",
        }
        assert {"name": "script", "mountPath": "/script"} in pod["containers"][1]["volumeMounts"]
        assert pod["containers"][1]["command"] == ["/script/pooldeck-fetch.sh"]
    if name == "ansible.yml":
        (play,) = yaml.safe_load(text)
        assert play["vars"]["pooldeck_pooler"] == str(pooler.pk)
        assert play["vars"]["pooldeck_files"] == "/srv/files"
        assert play["vars"]["pgbouncer_etc"] == "/etc/pgbouncer"


@pytest.mark.parametrize("folder", ["/srv/a, b}: 'c' #d", '/srv/"e"\\f'])
def test_a_folder_of_any_name_stays_one_value_in_an_example(staff, db, folder):
    pooler = a_pooler(config_dir=folder, delivery="pull")

    def read(name):
        return staff.get(url_of(pooler, f"fetch-examples/{name}")).content.decode()

    config, _service, deployment = yaml.safe_load_all(read("kubernetes.yaml"))
    assert f"%include {folder}/pooldeck.ini\n" in config["data"]["pgbouncer.ini"]
    (first,) = deployment["spec"]["template"]["spec"]["initContainers"]
    told = {one["name"]: one["value"] for one in first["env"]}
    assert (told["FILES"], told["PID_FILE"]) == (folder, f"{folder}/pgbouncer.pid")
    assert {"name": "pooldeck", "mountPath": folder} in first["volumeMounts"]
    (play,) = yaml.safe_load(read("ansible.yml"))
    assert play["vars"]["pooldeck_files"] == folder
    beginning = read("pooldeck-fetch.sh").partition("umask")[0]
    shown = 'printf "%s\n" "$POOLDECK_URL" "$POOLDECK_POOLER" "$FILES"'
    told = subprocess.run(
        ["/bin/sh", "-c", f"{beginning}{shown}"],
        env={"POOLDECK_TOKEN_FILE": "token", "POOLDECK_URL": "http://elsewhere"},
        capture_output=True,
        check=True,
        text=True,
    )
    assert told.stdout.splitlines() == ["http://elsewhere", str(pooler.pk), folder]


def test_no_other_file_is_given_as_an_example(staff, pulled):
    for name in ("nothing", "..", "README.md"):
        assert staff.get(url_of(pulled, f"fetch-examples/{name}")).status_code == 404


def test_the_page_asks_as_much_for_many_tokens(staff, pulled):
    def fetched(name):
        FileFetch.objects.note(pulled, token_of(pulled, name), None, transferred=True)
        token_of(pulled, f"unused {name}")

    fetched("one")
    one = queries_of(staff, url_of(pulled, "fetches/"))
    for name in ("two", "three"):
        fetched(name)
    assert queries_of(staff, url_of(pulled, "fetches/")) == one

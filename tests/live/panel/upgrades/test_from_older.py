"""An installation of an older state, filled by its API, is upgraded to this checkout with everything in place."""

import http.cookiejar
import json
import os
import re
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from panel.quickstart.ports import free_port
from panel.quickstart.servers import PostgresServer
from tests.installation import Api, Installation
from tests.live.panel.upgrades import older

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        not older.is_there(older.OLDER), reason=f"this clone has no commit {older.OLDER}: git fetch --unshallow"
    ),
]
LISTS = ("clusters", "poolers", "pools", "runs", "experiments", "playbooks", "generators", "tokens", "events")
WORKLOAD = {"clients": 2, "threads": 1, "transactions": 200}


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of an empty metadata database, which the panels of this test have; their keys are those of their home."""
    for name in ("POOLDECK_KEYS", "POOLDECK_SECRET_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "panel.settings")
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'home' / 'pooldeck.sqlite3'}"
        monkeypatch.setenv("DATABASE_URL", url)
        yield url
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    with server.connect() as session:
        session.execute("CREATE DATABASE panel")
    url = f"postgresql://{server.superuser}:{server.password}@127.0.0.1:{server.port}/panel"
    monkeypatch.setenv("DATABASE_URL", url)
    yield url
    with server.connect() as session:
        session.execute("DROP DATABASE panel WITH (FORCE)")


def start(source: Path, home: Path) -> Installation:
    """The demo of a checkout, by its own code."""
    program = ("env", f"PYTHONPATH={source}", f"--chdir={source}", sys.executable, "-m", "panel.quickstart")
    return Installation(home, "--port", str(free_port()), program=program)


def fill(api: Api) -> None:
    """Make one of everything beside the demo's own records: a second pool, changes, a refusal, runs, an experiment."""
    (pool,) = api.get("pools/")["results"]
    target = {name: pool[name] for name in ("cluster", "pooler", "database", "user", "mode")}
    second = api.post("pools/", {**target, "name": "second", "size": 2})
    api.wait(f"pools/{second['id']}/", "state", {"applied"}, 90)
    api.call("PATCH", f"pools/{second['id']}/", {"size": 3, "version": api.get(f"pools/{second['id']}/")["version"]})
    api.wait(f"pools/{second['id']}/", "state", {"applied"}, 90)
    run = api.post("runs/", {"target": {"pool": pool["id"]}, "options": WORKLOAD})
    run = run["results"][0] if "results" in run else run
    api.wait(f"runs/{run['id']}/", "status", {"succeeded"}, 120)
    api.post(
        "experiments/", {"playbook": "reconnect", "cluster": pool["cluster"], "pooler": pool["pooler"], "quick": True}
    )
    uri = api.get(f"pools/{pool['id']}/connection/?as=uri&reveal=1")["text"]
    api.post("external-endpoints/", {"name": "elsewhere", "uri": uri})


def records(api: Api) -> dict[str, list[str]]:
    """The ids of all records that the API lists."""
    return {
        name: sorted(one.get("id") or one["name"] for one in listed(api, name))
        for name in (*LISTS, "external-endpoints")
    }


def listed(api: Api, name: str) -> list[dict[str, Any]]:
    found = api.get(f"{name}/?page_size=200")
    return list(found["results"] if isinstance(found, dict) else found)


def upgrade(home: Path, folder: Path, database: str, source: Path) -> str:
    """Upgrade the stopped installation by the command, to a release that is this checkout."""
    prefix = folder / "opt"
    older.make_release(prefix / "releases" / "0.0.1", source)
    (prefix / "current").symlink_to("releases/0.0.1")
    wheel = folder / "pooldeck-9.0-py3-none-any.whl"
    wheel.touch()
    environment = folder / "environment"
    environment.write_text(f"POOLDECK_HOME={home}\nDATABASE_URL={database}\nDJANGO_SETTINGS_MODULE=panel.settings\n")
    options = {
        "--prefix": prefix,
        "--environment-file": environment,
        "--backups": folder / "backups",
        "--user": "",
        "--service-manager": "none",
        "--installer": older.installer(folder / "installer"),
    }
    argv = [
        sys.executable,
        "-m",
        "panel.upgrade",
        "--ignore-doctor",
        *(str(word) for pair in options.items() for word in pair),
    ]
    done = subprocess.run([*argv, wheel], cwd=older.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (prefix / "current").readlink() == Path("releases/9.0")
    return done.stdout


def pages(url: str, quickstart: dict[str, str], ids: dict[str, list[str]]) -> dict[str, int]:
    """The status of pages, seen by the admin of before with the password of before."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
    form = browser.open(f"{url}/login/").read().decode()
    (token,) = set(re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', form))
    words = {"csrfmiddlewaretoken": token, "username": quickstart["username"], "password": quickstart["password"]}
    browser.open(f"{url}/login/", urllib.parse.urlencode(words).encode()).close()
    names = ("clusters", "poolers", "pools", "runs", "experiments")
    paths = ["/", *(f"/{name}/" for name in names), *(f"/{name}/{one}/" for name in names for one in ids[name])]
    status = {}
    for path in paths:
        try:
            with browser.open(url + path) as answer:
                status[path] = answer.status if "/login/" not in answer.url else 401
        except urllib.error.HTTPError as error:
            status[path] = error.code
    return status


def test_everything_is_there_after_the_upgrade(tmp_path: Path, database: str) -> None:
    tmp_path.chmod(0o711)
    home = tmp_path / "home"
    source = older.unpack(older.OLDER, tmp_path / "older")
    with start(source, home) as before:
        fill(before.api)
        known = records(before.api)
        (pool,) = (one for one in listed(before.api, "pools") if one["name"] == "app")
        uri = before.api.get(f"pools/{pool['id']}/connection/?as=uri&reveal=1")["text"]
        logins = before.quickstart
    print(upgrade(home, tmp_path, database, source))
    (backup,) = (tmp_path / "backups").iterdir()
    manifest = json.loads((backup / "manifest.json").read_text())
    assert manifest["rows"]["benchmarks_experiment"] == 1
    with start(older.ROOT, home) as after:
        found = records(after.api)
        lost = {name: sorted({*ids} - {*found[name]}) for name, ids in known.items()}
        assert {name: ids for name, ids in lost.items() if ids} == {}
        assert after.api.get("installation/")["paused_at"] is None
        assert (
            after.api.get(f"pools/{pool['id']}/connection/?as=uri&reveal=1")["text"].split("@")[0] == uri.split("@")[0]
        )
        after.api.post(f"clusters/{pool['cluster']}/check/")
        cluster = after.api.get(f"clusters/{pool['cluster']}/")
        assert cluster["status"]["state"] == "online", cluster
        for name in ("clusters", "poolers", "pools", "runs", "experiments"):
            for one in found[name]:
                assert after.api.get(f"{name}/{one}/")["id"] == one
        seen = pages(after.url, logins, found)
        assert {path: status for path, status in seen.items() if status != 200} == {}
        later = {name: count for name, count in rows_now(database, home).items() if name in manifest["rows"]}
    fewer = {name: (manifest["rows"][name], count) for name, count in later.items() if count < manifest["rows"][name]}
    assert set(fewer) <= {"django_session"}, fewer
    assert later.keys() == manifest["rows"].keys()
    print(f"{sum(manifest['rows'].values())} rows in {len(later)} tables, {len(seen)} pages")


def rows_now(database: str, home: Path) -> dict[str, int]:
    """The rows of each table after the upgrade, by another backup."""
    target = home / "after"
    argv = [sys.executable, "manage.py", "backup", str(target)]
    variables = os.environ | {"POOLDECK_HOME": str(home), "DATABASE_URL": database}
    subprocess.run(argv, cwd=older.ROOT, env=variables, check=True, capture_output=True)
    rows: dict[str, int] = json.loads((target / "manifest.json").read_text())["rows"]
    return rows

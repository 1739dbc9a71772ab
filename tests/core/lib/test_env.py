"""What the panel takes from its environment, and what it leaves there."""

import os
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from core.lib import env


def test_the_variables_of_libpq_are_dropped_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGSERVICE", "PGHOSTADDR", "PGOPTIONS", "PGSSLROOTCERT", "PG_COLOR", "POOLDECK_PGBENCH", "PAGER"):
        monkeypatch.setenv(name, "set")
    env.remove_libpq_variables()
    kept = {name for name in os.environ if name.startswith("P") and os.environ[name] == "set"}
    assert kept == {"PG_COLOR", "POOLDECK_PGBENCH", "PAGER"}


@pytest.mark.parametrize("name", ["local", "rack-2", "host.example_1", "x" * 63])
def test_a_generators_name_is_a_word(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("POOLDECK_GENERATOR", name)
    assert env.read("POOLDECK_GENERATOR", "local", env.generator_name) == name


@pytest.mark.parametrize("name", ["any", "two words", "a,b", "-x", "x" * 64, "é"])
def test_another_name_stops_the_start_and_names_its_variable(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("POOLDECK_GENERATOR", name)
    with pytest.raises(ImproperlyConfigured, match=r"POOLDECK_GENERATOR=.*use 1 to 63 letters"):
        env.read("POOLDECK_GENERATOR", "local", env.generator_name)


@pytest.mark.parametrize(
    ("given", "broker"),
    [
        ("", "redis://127.0.0.1:6379/0"),
        ("redis://:secret@redis:6379/1", "redis://:secret@redis:6379/1"),
        ("rediss://redis:6380/0", "rediss://redis:6380/0"),
        ("unix:///run/redis/redis.sock", "redis+socket:///run/redis/redis.sock?virtual_host=0"),
        ("unix://:secret@/run/redis.sock?db=3", "redis+socket://:secret@/run/redis.sock?virtual_host=3"),
    ],
)
def test_the_broker_is_the_same_redis(monkeypatch: pytest.MonkeyPatch, given: str, broker: str) -> None:
    monkeypatch.setenv("REDIS_URL", given)
    assert env.broker_url() == broker


def test_secrets_are_read_from_their_own_folder_where_one_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home, apart = tmp_path / "home", tmp_path / "apart"
    for folder in (home, apart):
        folder.mkdir()
        (folder / "keys").write_text(f"{folder.name}\n")
    monkeypatch.delenv("POOLDECK_KEYS", raising=False)
    monkeypatch.setenv("POOLDECK_HOME", str(home))
    assert env.secret("POOLDECK_KEYS", "keys") == "home"
    monkeypatch.setenv("POOLDECK_SECRETS_FOLDER", str(apart))
    assert env.secret("POOLDECK_KEYS", "keys") == "apart"


@pytest.mark.parametrize(
    ("name", "value", "parse", "says"),
    [
        ("DATABASE_URL", "postgresql://panel:can/ary@db:5432/panel", lambda: env.database_url(), "%2F"),
        ("REDIS_URL", "redis://:can#ary@redis:6379/0", lambda: env.redis_url(), "%23"),
        ("POOLDECK_WEBHOOK_URL", "hooks.example.org/can/ary", None, "use http:// or https:// and a host"),
        ("POOLDECK_WEBHOOK_URL", "https://hooks.example.org/can ary", None, "write blanks"),
        ("POOLDECK_WEBHOOK_URL", "https://hooks.example.org/canäry", None, "write blanks"),
    ],
)
def test_an_address_with_a_secret_is_refused_without_it(monkeypatch, name, value, parse, says) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured, match=name) as refused:
        parse() if parse else env.read(name, "", env.web_address)
    assert says in str(refused.value)
    assert "can" not in str(refused.value).replace("can't", "")
    assert refused.value.__suppress_context__  # a traceback shows no error that has it


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:////var/lib/pooldeck/p.sqlite3",
        "postgresql://panel:can%2Fary@[::1]:5432/panel",
        "unix:///run/r.sock?db=3",
    ],
)
def test_sound_addresses_are_taken(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    monkeypatch.setenv("REDIS_URL", url)
    assert (env.database_url(), env.redis_url()) == (url, url)


def test_other_programs_get_none_of_the_panels_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "REDIS_URL", "POOLDECK_KEYS", "POOLDECK_WEBHOOK_SECRET"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("VAULT_ADDR", "https://vault")
    given = env.of_other_programs()
    assert "secret" not in given.values()
    assert (given["VAULT_ADDR"], given["PATH"]) == ("https://vault", os.environ["PATH"])

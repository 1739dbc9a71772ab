"""System checks name unsafe settings and their remedy."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from string import ascii_letters
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.checks import CheckMessage, run_checks
from django.test import Client

from core.accounts.sign_on.configuration import GroupRules, OpenIDConnect
from panel import checks
from tests import callers
from tests.pages import page_of
from tests.pools.records import a_cluster, a_pool

REPOSITORY = Path(__file__).resolve().parents[2]


def ids(check: Callable[..., list[CheckMessage]]) -> list[str | None]:
    return [message.id for message in check(None)]


@pytest.mark.parametrize("host", ["localhost", "panel.localhost", "127.0.0.1", "127.8.8.8", "[::1]"])
def test_loopback_names_are_known(host: str) -> None:
    assert checks.is_loopback(host)


@pytest.mark.parametrize("host", ["panel.example.org", "10.0.0.1", "*", ".example.org", "localhost.example.org"])
def test_other_names_are_open(host: str) -> None:
    assert not checks.is_loopback(host)


def test_debug_on_an_open_host_is_an_error(settings: Any) -> None:
    settings.ALLOWED_HOSTS, settings.DEBUG = ["panel.example.org", "localhost"], True
    assert ids(checks.debug_is_for_this_machine) == ["pooldeck.E001"]


def test_debug_on_this_machine_is_fine(settings: Any) -> None:
    settings.ALLOWED_HOSTS, settings.DEBUG = ["localhost"], True
    assert ids(checks.debug_is_for_this_machine) == []


def test_an_open_host_without_https_is_warned_of(settings: Any) -> None:
    settings.ALLOWED_HOSTS, settings.SESSION_COOKIE_SECURE = ["panel.example.org"], False
    assert ids(checks.remote_hosts_use_https) == ["pooldeck.W001"]
    settings.SESSION_COOKIE_SECURE = True
    assert ids(checks.remote_hosts_use_https) == []


def test_a_star_is_warned_of(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    assert ids(checks.hosts_are_named) == ["pooldeck.W002"]


def test_an_unusable_key_is_told_by_its_number_not_its_text(settings: Any) -> None:
    settings.POOLDECK_KEYS = [*settings.POOLDECK_KEYS, "no-key"]
    (message,) = checks.keys_can_seal(None)
    assert message.id == "pooldeck.E002"
    assert "key 2" in message.msg
    assert "no-key" not in message.msg


def test_uncollected_page_files_are_warned_of(settings: Any, tmp_path: Path) -> None:
    settings.STATIC_ROOT = tmp_path
    assert ids(checks.page_files_are_collected) == ["pooldeck.W005"]
    (tmp_path / "staticfiles.json").write_text("{}")
    assert ids(checks.page_files_are_collected) == []


def test_a_missing_pgbench_is_warned_of(settings: Any) -> None:
    settings.PGBENCH = "/nonexistent/pgbench"
    assert ids(checks.pgbench_is_there) == ["pooldeck.W003"]


def test_a_named_generator_on_sqlite_is_warned_of(settings: Any) -> None:
    settings.GENERATOR = "rack-2"
    assert ids(checks.generators_share_a_database) == ["pooldeck.W004"]


def test_a_webhook_without_a_signature_is_warned_of(settings: Any) -> None:
    settings.WEBHOOK_URL = "https://hooks.example.org/"
    assert ids(checks.webhooks_are_signed) == ["pooldeck.W006"]
    settings.WEBHOOK_SECRET = "a secret"
    assert ids(checks.webhooks_are_signed) == []


def test_mail_without_receivers_is_warned_of(settings: Any) -> None:
    settings.EMAIL_HOST = "mail.example.org"
    assert ids(checks.mail_has_receivers) == ["pooldeck.W007"]
    settings.EMAIL_TO = ["dba@example.org"]
    assert ids(checks.mail_has_receivers) == []


def test_the_settings_as_they_come_raise_nothing(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]"]  # the test runner adds one of its own
    every = (
        checks.debug_is_for_this_machine,
        checks.remote_hosts_use_https,
        checks.hosts_are_named,
        checks.keys_can_seal,
        checks.generators_share_a_database,
    )
    assert [ids(check) for check in every] == [[], [], [], [], []]


def deploy_check(settings: Any, home: Path, *, https: bool) -> set[str | None]:
    """Return what `check --deploy` finds in an installation that other machines reach, by the ids of its messages."""
    settings.ALLOWED_HOSTS, settings.STATIC_ROOT, settings.SECRET_KEY = ["panel.example.org"], home, ascii_letters
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = https
    (home / "staticfiles.json").write_text("{}")
    found = run_checks(include_deployment_checks=True)
    return {message.id for message in found if not message.is_silenced()}


def test_the_deploy_check_finds_nothing_behind_https(settings: Any, tmp_path: Path) -> None:
    assert deploy_check(settings, tmp_path, https=True) == set()


def test_the_deploy_check_names_what_goes_without_https(settings: Any, tmp_path: Path) -> None:
    assert deploy_check(settings, tmp_path, https=False) == {"pooldeck.W001", "security.W012", "security.W016"}


def test_the_proxies_do_what_the_deploy_check_is_silenced_for() -> None:
    nginx, caddy = ((REPOSITORY / "deploy" / "debian" / name).read_text() for name in ("nginx.conf", "Caddyfile"))
    assert all('Strict-Transport-Security "max-age=' in one for one in (nginx, caddy))
    assert "return 301 https://" in nginx  # Caddy redirects by itself


def test_each_check_has_an_id_of_its_own() -> None:
    found = re.findall(r'id="(pooldeck\.[EW]\d+)"', Path(checks.__file__).read_text())
    assert len(found) == len(set(found)) > 8


@pytest.mark.django_db
def test_secrets_that_no_key_opens_are_named(settings: Any) -> None:
    cluster = a_cluster(name="orders")
    cluster.admin_password = "secret"
    cluster.save()
    cluster.keep_password("app", "word")
    assert checks.stored_secrets_open(None, databases=["default"]) == []
    settings.POOLDECK_KEYS = [Fernet.generate_key().decode()]
    (found,) = checks.stored_secrets_open(None, databases=["default"])
    assert found.id == "pooldeck.E004"
    assert found.msg == (
        f"no key of POOLDECK_KEYS decrypts 2 stored secrets (cluster orders, role password app on {cluster.pk}); "
        "missing is the key that encrypted them"
    )
    assert checks.stored_secrets_open(None) == []


@pytest.mark.django_db
def test_a_page_that_needs_a_key_that_is_lost_says_so(settings: Any) -> None:
    pool = a_pool(user="app")
    pool.cluster.keep_password("app", "word")
    settings.POOLDECK_KEYS = [Fernet.generate_key().decode()]
    browser = Client(raise_request_exception=False)
    browser.force_login(callers.person())
    answer = browser.get(f"/pools/{pool.pk}/")
    assert answer.status_code == 503
    assert f"no key of POOLDECK_KEYS decrypts the secret of role:{pool.cluster_id}:app" in page_of(answer)


def test_a_broken_file_of_create_commands_is_an_error(settings: Any, tmp_path: Path) -> None:
    settings.CREATE_FILE = ""
    assert ids(checks.commands_of_clusters_are_valid) == []
    path = tmp_path / "create.toml"
    path.write_text('[[create]]\nsize = "small"\nregion = "nyc1"\ncommand = "make"\n')
    path.chmod(0o600)
    settings.CREATE_FILE = str(path)
    (message,) = checks.commands_of_clusters_are_valid(None)
    assert (message.id, "line 4, create.0.command" in message.msg) == ("pooldeck.E003", True)


def test_a_provider_is_asked_by_https_and_lets_somebody_in(settings: Any) -> None:
    provider = OpenIDConnect(issuer="http://sso.example.org", client_id="pooldeck")
    settings.OIDC = provider
    assert ids(checks.provider_is_asked_by_https) == ["pooldeck.E005"]
    assert ids(checks.provider_lets_people_in) == ["pooldeck.W009"]
    settings.OIDC = replace(provider, issuer="http://localhost:8080", rules=GroupRules(allow_all=True))
    assert ids(checks.provider_is_asked_by_https) == ids(checks.provider_lets_people_in) == []

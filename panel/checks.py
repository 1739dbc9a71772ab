"""System checks: settings that are unsafe or can't work together, reported at every start."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from cryptography.fernet import Fernet
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import DatabaseError

from benchmarks.engines import DEFAULT_ENGINE, engine
from benchmarks.errors import BenchmarksError
from core.installation import known_keys
from core.lib.addresses import is_loopback
from pools.inventory import create_file


def open_hosts() -> list[str]:
    """Return the entries of ALLOWED_HOSTS that other machines may reach."""
    return [host for host in settings.ALLOWED_HOSTS if not is_loopback(host)]


@register(Tags.security)
def debug_is_for_this_machine(app_configs: Sequence[Any] | None, **_: object) -> list[CheckMessage]:
    """Report debug mode on a reachable host: its error pages show settings and local variables."""
    if not settings.DEBUG or not open_hosts():
        return []
    hint = "Unset POOLDECK_DEBUG, or leave POOLDECK_ALLOWED_HOSTS at its default."
    return [Error(f"POOLDECK_DEBUG is on while {', '.join(open_hosts())} may reach it", hint=hint, id="pooldeck.E001")]


@register(Tags.security)
def remote_hosts_use_https(app_configs: Sequence[Any] | None, **_: object) -> list[CheckMessage]:
    """Warn of cookies that are sent without HTTPS, from which a session can be stolen."""
    if settings.SESSION_COOKIE_SECURE or not open_hosts():
        return []
    hint = "Put it behind a proxy that terminates HTTPS, and set POOLDECK_HTTPS=true."
    message = f"{', '.join(open_hosts())} may reach the panel, but POOLDECK_HTTPS is off"
    return [Warning(message, hint=hint, id="pooldeck.W001")]


@register(Tags.security)
def hosts_are_named(app_configs: Sequence[Any] | None, **_: object) -> list[CheckMessage]:
    """Warn of `*` in ALLOWED_HOSTS, which allows host header attacks."""
    if "*" not in settings.ALLOWED_HOSTS:
        return []
    hint = "List the host names that people enter in their browser."
    return [Warning("POOLDECK_ALLOWED_HOSTS contains *", hint=hint, id="pooldeck.W002")]


@register(Tags.security)
def keys_can_seal(app_configs: Sequence[Any] | None, **_: object) -> list[CheckMessage]:
    """Report invalid keys; without this check the first password to be stored would fail."""
    faults = []
    for number, key in enumerate(settings.POOLDECK_KEYS, start=1):
        try:
            Fernet(key)
        except ValueError as error:
            faults.append(f"key {number} of POOLDECK_KEYS can't be used: {error}")
    hint = "Make one with: python -c 'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())'"
    return [Error(fault, hint=hint, id="pooldeck.E002") for fault in faults]


@register(Tags.staticfiles, deploy=True)
def page_files_are_collected(app_configs: Sequence[Any] | None, **_: object) -> list[CheckMessage]:
    """Warn where collectstatic has not run: pages find their styles in the manifest that it writes."""
    if (settings.STATIC_ROOT / "staticfiles.json").exists() or settings.DEBUG:
        return []
    hint = "Run: python manage.py collectstatic --noinput (script/up runs it itself), then restart the web process."
    message = f"static files are not collected in {settings.STATIC_ROOT}"
    return [Warning(message, hint=hint, id="pooldeck.W005")]


@register(Tags.compatibility)
def pgbench_is_there(app_configs: Sequence[Any] | None, **_: object) -> list[CheckMessage]:
    """Warn where pgbench is missing: workers need it, a machine with only the web process does not."""
    try:
        engine(DEFAULT_ENGINE).find()
    except BenchmarksError as error:
        hint = "Only workers that take runs need it; elsewhere ignore this warning."
        return [Warning(str(error), hint=hint, id="pooldeck.W003")]
    return []


@register(Tags.database)
def generators_share_a_database(app_configs: Sequence[Any] | None, **_: object) -> list[CheckMessage]:
    """Warn of a named generator with SQLite, which several machines can't share."""
    if settings.GENERATOR == "local" or "sqlite" not in settings.DATABASES["default"]["ENGINE"]:
        return []
    message = f"POOLDECK_GENERATOR is {settings.GENERATOR}, but the metadata database is SQLite"
    hint = "Workers on several machines need one PostgreSQL: set DATABASE_URL."
    return [Warning(message, hint=hint, id="pooldeck.W004")]


@register(Tags.security)
def webhooks_are_signed(app_configs: Sequence[Any] | None, **_: object) -> list[CheckMessage]:
    """Warn of an unsigned webhook, to which anybody could send forged events."""
    if not settings.WEBHOOK_URL or settings.WEBHOOK_SECRET:
        return []
    hint = "Set POOLDECK_WEBHOOK_SECRET, and let the receiver check X-Pooldeck-Signature."
    return [Warning("events are sent to POOLDECK_WEBHOOK_URL without a signature", hint=hint, id="pooldeck.W006")]


@register(Tags.security)
def audit_webhook_is_signed(app_configs: Sequence[Any] | None, **_: object) -> list[CheckMessage]:
    """Warn of an unsigned webhook of the audit trail, to which anybody could send forged entries."""
    if not settings.AUDIT_WEBHOOK_URL or settings.AUDIT_WEBHOOK_SECRET:
        return []
    hint = "Set POOLDECK_AUDIT_WEBHOOK_SECRET, and let the receiver check X-Pooldeck-Signature."
    message = "the audit trail is sent to POOLDECK_AUDIT_WEBHOOK_URL without a signature"
    return [Warning(message, hint=hint, id="pooldeck.W010")]


@register(Tags.security)
def provider_is_asked_by_https(app_configs: Sequence[Any] | None, **_: object) -> list[CheckMessage]:
    """Report an OpenID Connect provider on another machine without HTTPS: its answers could be forged on the way."""
    if settings.OIDC is None or not settings.OIDC.issuer.startswith("http://"):
        return []
    if is_loopback(urlsplit(settings.OIDC.issuer).hostname or ""):
        return []
    hint = "Use the provider's https:// address."
    return [Error(f"POOLDECK_OIDC_ISSUER is {settings.OIDC.issuer}", hint=hint, id="pooldeck.E005")]


@register(Tags.security)
def provider_lets_people_in(app_configs: Sequence[Any] | None, **_: object) -> list[CheckMessage]:
    """Warn of an OpenID Connect provider by which nobody new can sign in."""
    if settings.OIDC is None or settings.OIDC.rules.grants or settings.OIDC.rules.allow_all:
        return []
    hint = "Set POOLDECK_OIDC_GROUPS to what groups give, or POOLDECK_OIDC_ALLOW_ALL."
    return [Warning("nobody new can sign in by POOLDECK_OIDC_ISSUER", hint=hint, id="pooldeck.W009")]


@register(Tags.compatibility)
def mail_has_receivers(app_configs: Sequence[Any] | None, **_: object) -> list[CheckMessage]:
    """Warn where either the mail server or the recipients are missing, so that no mail is sent."""
    if bool(settings.EMAIL_TO) == (settings.EMAIL_HOST != ""):
        return []
    message = "events are mailed only if both POOLDECK_EMAIL_HOST and POOLDECK_EMAIL_TO are set"
    return [Warning(message, hint="Set the other one as well, or neither.", id="pooldeck.W007")]


@register(Tags.compatibility)
def commands_of_clusters_are_valid(app_configs: Sequence[Any] | None, **_: object) -> list[CheckMessage]:
    """Report a file of create commands that can't be read or has faults: no cluster could be created by it."""
    try:
        create_file.entries()
    except create_file.InvalidCreateFile as error:
        hint = (
            "docs/reference/managed-api.md describes the file; the web process and the workers that take tasks read it."
        )
        return [Error(str(error), hint=hint, id="pooldeck.E003")]
    return []


@register(Tags.database)
def stored_secrets_open(
    app_configs: Sequence[Any] | None, databases: Sequence[str] | None = None, **_: object
) -> list[CheckMessage]:
    """Report a missing key that stored secrets need; runs with `check --database default` and with `migrate`."""
    if not databases:
        return []
    try:
        found = known_keys.fault()
    except DatabaseError:  # The tables do not exist before the first migration.
        return []
    return [Error(found, hint=known_keys.REMEDY, id="pooldeck.E004")] if found else []

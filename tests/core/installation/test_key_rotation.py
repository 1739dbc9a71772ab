"""Rotating the keys: every column with secrets, those inside scripts too, and no key removed that one needs."""

from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.apps import apps
from django.core.management import CommandError, call_command

from benchmarks.library.scripts import library
from benchmarks.models import ExternalEndpoint, ScriptVersion
from core.audit import chain
from core.installation import key_rotation, known_keys
from core.installation.known_keys import KeyMissing
from core.installation.models import KnownKey
from core.lib import crypto
from core.lib.crypto import fingerprint
from core.lib.sealed_field import SealedField
from panel import checks, diagnosis
from pools.models import ApprovalRequest, Host, NotificationChannel, PoolerFile, Revision, RevisionState, TakeOver
from pools.models.take_overs import Original
from tests.benchmarks.records import a_run
from tests.pools.records import a_cluster, a_pooler

pytestmark = pytest.mark.django_db
ENCRYPTED = "-- sampled values, encrypted: "
OLD, NEW = Fernet.generate_key().decode(), Fernet.generate_key().decode()


def columns_with_secrets() -> set[str]:
    return {f"{one.model.__name__}.{one.field.name}" for one in key_rotation.columns() if one.rows.exists()}


@pytest.fixture
def secrets(settings: Any) -> dict[str, Any]:
    """A secret in each column, all of them under the old key."""
    settings.POOLDECK_KEYS = [OLD]
    cluster, pooler = a_cluster(name="orders"), a_pooler(name="web")
    for server in (cluster, pooler):
        server.admin_password = "admin"
        server.save()
    cluster.keep_password("app", "word")
    external = ExternalEndpoint(name="elsewhere", host="db", database="shop", user="app", console_user="console")
    external.password, external.console_password = "outside", "console"
    external.save()
    host = Host(name="db1", address="db1", user="postgres", public_key="ssh-ed25519 AAAA")
    host.private_key = "private"
    host.save()
    channel = NotificationChannel(name="chat", service="ntfy")
    channel.url = "ntfys://ntfy.example/dba"
    channel.save()
    file = PoolerFile(pooler=pooler, setting="auth_hba_file")
    file.content = "rules"
    file.save()
    revision = Revision.objects.draft(pooler, {"pooldeck.ini": "password"}, given={"auth_hba_file": "rules"})
    revision.finish(RevisionState.APPLIED, "")
    take_over = TakeOver(pooler=pooler, config_file="/etc/pgbouncer.ini")
    take_over.originals = {"/etc/pgbouncer.ini": Original(role="main", content=b"before")}
    take_over.save()
    request = ApprovalRequest(cluster=cluster, text="drop database shop")
    request.arguments = "{}"
    request.save()
    text = f"{ENCRYPTED}{crypto.seal('ada@example.org', 'values')}\nSELECT $1;"  # as earlier releases stored them
    script = library.create(name="recorded", text=text)
    run = a_run(cluster=cluster, database="shop", options={"scripts": [{"text": text, "weight": 1}]})
    return {
        "cluster": cluster,
        "host": host,
        "channel": channel,
        "script": script,
        "run": run,
        "take_over": take_over,
    }


def opened(secrets: dict[str, Any]) -> list[Any]:
    """What stands in the columns, read again."""
    for one in secrets.values():
        one.refresh_from_db()
    run = secrets["run"]
    return [
        secrets["cluster"].admin_password,
        secrets["host"].private_key,
        secrets["channel"].url,
        crypto.unseal(run.options["scripts"][0]["text"].split()[4], "values"),
        secrets["take_over"].originals["/etc/pgbouncer.ini"].content,
    ]


CLEAR = ["admin", "private", "ntfys://ntfy.example/dba", "ada@example.org", b"before"]


def test_every_column_of_a_model_that_is_named_so_has_the_type_and_a_secret_here(secrets) -> None:
    named = {
        f"{model.__name__}.{field.name}"
        for model in apps.get_models()
        for field in model._meta.local_concrete_fields
        if "sealed" in field.name or isinstance(field, SealedField)
    }
    typed = {f"{one.model.__name__}.{one.field.name}" for one in key_rotation.columns() if one.is_sealed}
    assert named == typed
    assert columns_with_secrets() == typed | {"Run.options", "ScriptVersion.text"}


def test_a_rotation_leaves_nothing_for_the_old_key(secrets, settings) -> None:
    settings.POOLDECK_KEYS = [NEW, OLD]
    before = key_rotation.count()
    read: list[int] = []
    rows = key_rotation.rows_to_read()
    assert (before.by_key[0], before.needing_older) == (0, key_rotation.rotate(read.append))
    assert sum(read) == rows
    assert key_rotation.count().by_key == [before.needing_older, 0]
    settings.POOLDECK_KEYS = [NEW]
    assert opened(secrets) == CLEAR
    known_keys.check_at_start()
    assert key_rotation.rotate() == 0


def test_a_killed_rotation_goes_on_and_the_old_key_is_needed_until_its_end(secrets, settings, monkeypatch) -> None:
    settings.POOLDECK_KEYS = [NEW, OLD]
    known_keys.check_at_start()
    monkeypatch.setattr(key_rotation, "BATCH", 1)
    for batches in range(1, key_rotation.rows_to_read(), 3):
        left = iter(range(batches))

        def killed(rows: int, left=left) -> None:
            if next(left, None) is None:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            key_rotation.rotate(killed)
        assert opened(secrets) == CLEAR
        if key_rotation.count().needing_older:
            settings.POOLDECK_KEYS = [NEW]
            with pytest.raises(KeyMissing):
                known_keys.check_at_start()
            settings.POOLDECK_KEYS = [NEW, OLD]
    key_rotation.rotate()
    assert key_rotation.count().needing_older == 0


def test_a_token_of_somebody_elses_in_a_text_stays_as_it_is(secrets, settings) -> None:
    foreign = Fernet(Fernet.generate_key()).encrypt(b"theirs").decode()
    ScriptVersion.objects.filter(script=secrets["script"]).update(text=f"-- {foreign}")
    settings.POOLDECK_KEYS = [NEW, OLD]
    key_rotation.rotate()
    assert ScriptVersion.objects.get(script=secrets["script"]).text == f"-- {foreign}"
    assert key_rotation.count().unreadable == []


def test_the_start_is_refused_without_a_needed_key_and_names_what_needs_it(secrets, settings) -> None:
    known_keys.check_at_start()
    settings.POOLDECK_KEYS = [NEW]
    with pytest.raises(KeyMissing) as error:
        known_keys.check_at_start()
    assert f"missing is the key with the fingerprint {fingerprint(OLD)}: append the key to POOLDECK_KEYS" in str(
        error.value
    )
    assert "cluster orders" in str(error.value)
    assert OLD not in str(error.value)
    assert [one.id for one in checks.stored_secrets_open(None, databases=["default"])] == ["pooldeck.E004"]
    assert "check pooldeck.E004" in {one.subject for one in diagnosis.answers() if not one.is_ok}


def test_a_start_with_the_known_keys_reads_no_secret(secrets, django_assert_num_queries) -> None:
    known_keys.check_at_start()
    with django_assert_num_queries(2):
        known_keys.check_at_start()


def test_doctor_says_which_key_is_needed(secrets, settings) -> None:
    settings.POOLDECK_KEYS = [NEW, OLD]
    answers = [one for one in diagnosis.answers() if one.subject == "keys"]
    assert [one.is_ok for one in answers] == [True, False]
    assert "run python manage.py rotate_keys" in answers[1].remedy
    key_rotation.rotate()
    answers = [one for one in diagnosis.answers() if one.subject == "keys"]
    assert [one.is_ok for one in answers] == [True, True]
    assert answers[1].remedy.startswith("remove it from POOLDECK_KEYS")


def test_the_command_rotates_and_tells_what_is_left(secrets, settings, capsys) -> None:
    with pytest.raises(CommandError, match="put a new one before it"):
        call_command("rotate_keys")
    settings.POOLDECK_KEYS = [NEW, OLD]
    with pytest.raises(SystemExit):
        call_command("rotate_keys", status=True)
    assert f"key 2 ({fingerprint(OLD)}): 14 secrets; keep it: run rotate_keys" in capsys.readouterr().out
    call_command("rotate_keys")
    assert capsys.readouterr().out.splitlines() == [
        "encrypted again: 14 secrets",
        f"key 1 ({fingerprint(NEW)}): 14 secrets; it encrypts",
        f"key 2 ({fingerprint(OLD)}): 0 secrets; it can be removed, here and on every other host",
    ]
    call_command("rotate_keys", status=True)


def test_a_lost_key_is_given_up_only_where_told(secrets, settings, capsys) -> None:
    known_keys.check_at_start()
    settings.POOLDECK_KEYS = [NEW]
    with pytest.raises(SystemExit):
        call_command("rotate_keys", status=True)
    assert "no key: 12 secrets" in capsys.readouterr().out
    call_command("rotate_keys", forget_lost=True)
    known_keys.check_at_start()
    assert [one.fingerprint for one in KnownKey.objects.all()] == [fingerprint(NEW)]
    with pytest.raises(crypto.SealBroken):
        _ = secrets["cluster"].admin_password


@pytest.mark.django_db(transaction=True)  # the trail is written at a commit
def test_a_rotation_rewrites_no_entry_of_the_trail(settings) -> None:
    settings.POOLDECK_KEYS = [OLD]
    script = library.create(name="mix", text="SELECT 1;\n", description="")
    sealed = crypto.seal("values", "script")
    ScriptVersion.objects.create(script=script, number=2, text=f"{ENCRYPTED}{sealed}\nSELECT 1;\n")
    head = chain.verify()
    settings.POOLDECK_KEYS = [NEW, OLD]
    assert key_rotation.rotate() == 1
    assert chain.verify(head).number >= head.number

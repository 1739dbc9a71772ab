"""The ends of certificates that the panel was given, as events."""

from datetime import UTC, datetime, timedelta
from math import inf

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from pools.models import Event, EventKind, Pooler, PoolerFile
from pools.monitoring import alerting, certificates, metric_values, thresholds
from tests.certificates import self_signed
from tests.pools.records import a_cluster, a_pooler

pytestmark = pytest.mark.django_db


def give(pooler: Pooler, setting: str, text: str) -> PoolerFile:
    """Store a file as a person gives it, in place of the one before."""
    file = PoolerFile.objects.filter(pooler=pooler, setting=setting).first() or PoolerFile(
        pooler=pooler, setting=setting
    )
    file.content = text
    file.save()
    return file


def signed(name: str, days: float) -> str:
    return self_signed(name, until=timezone.now() + timedelta(days=days))[1]


def judge() -> None:
    values = [one for one in metric_values.all_values({}) if one.kind == EventKind.CERTIFICATE]
    alerting.judge_values(values, {EventKind.CERTIFICATE: thresholds.bounds()[EventKind.CERTIFICATE]})


def test_a_certificate_about_to_expire_is_an_event_until_a_new_one_is_given():
    pooler = a_pooler(name="edge")
    give(pooler, "client_tls_cert_file", signed("pool.example", 31))
    judge()
    assert not Event.objects.exists()
    give(pooler, "client_tls_cert_file", signed("pool.example", 9.5))
    judge()
    event = Event.objects.get()
    assert (event.subject_name, event.is_open, round(event.value, 1)) == ("edge", True, 9.5)
    assert event.message.startswith("the certificate of pool.example (client_tls_cert_file) expires at 20")
    assert event.message.endswith(" UTC, in 9 days")
    give(pooler, "client_tls_cert_file", signed("pool.example", 365))
    judge()
    assert not Event.objects.ongoing().exists()


def test_an_event_closes_with_the_last_certificate_of_its_pooler():
    file = give(a_pooler(), "client_tls_cert_file", signed("pool.example", -1))
    judge()
    assert "expired at" in Event.objects.ongoing().get().message
    file.delete()
    judge()
    assert not Event.objects.ongoing().exists()


def test_the_first_end_counts_of_what_is_presented_and_the_last_of_authorities():
    pooler = a_pooler()
    give(pooler, "client_tls_cert_file", signed("leaf", 300) + signed("issuer", 200))
    give(pooler, "server_tls_ca_file", signed("old root", -100) + signed("new root", 250))
    give(pooler, "client_tls_key_file", self_signed("leaf")[0])
    give(pooler, "auth_hba_file", "host all all all trust")
    found = certificates.first_of_poolers()[pooler.pk]
    assert (found.subject, found.setting) == ("issuer", "client_tls_cert_file")


def test_the_authority_of_a_cluster_ends_too():
    cluster = a_cluster(name="main", sslrootcert=signed("root", 3))
    judge()
    event = Event.objects.get()
    assert (event.subject_id, event.pooler_id) == (cluster.pk, None)
    assert "the certificate of root (sslrootcert) expires at" in event.message


def test_what_can_not_be_read_has_no_end():
    pooler = a_pooler()
    give(pooler, "client_tls_cert_file", signed("leaf", 3))
    PoolerFile.objects.update(sealed_content="broken")
    assert certificates.first_of_poolers() == {}
    assert certificates.days_left(None) == inf


def test_a_file_is_read_once():
    for _ in range(3):
        give(a_pooler(), "client_tls_cert_file", signed("leaf", 300))
    certificates.first_of_poolers()
    with CaptureQueriesContext(connection) as queries:
        assert len(certificates.first_of_poolers()) == 3
    assert len(queries) == 1


def test_an_end_tells_the_time_in_utc():
    end = certificates.End(datetime(2020, 2, 3, 4, 5, tzinfo=UTC), "pool.example", "client_tls_cert_file")
    assert end.sentence == "the certificate of pool.example (client_tls_cert_file) expired at 2020-02-03 04:05 UTC"

"""Certificates and keys: what can be used, what belongs together, and what may be shown."""

import datetime

import pytest
from cryptography.hazmat.primitives import serialization

from pools.poolers import pem
from tests.certificates import self_signed


@pytest.fixture(scope="module")
def pair():
    return self_signed("db.example")


def test_a_certificate_is_told_from_other_text(pair):
    key, certificate = pair
    assert pem.certificate_fault(certificate + self_signed("root")[1]) == ""
    assert "not a certificate in PEM" in pem.certificate_fault("hello")
    assert "contains a private key" in pem.certificate_fault(certificate + key)


def test_a_key_must_open_without_a_passphrase(pair):
    key, certificate = pair
    assert pem.key_fault(key) == ""
    assert pem.key_fault(f"some text\n{key}") == ""
    assert "not a private key in PEM" in pem.key_fault(certificate)
    locked = serialization.load_pem_private_key(key.encode(), None).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"passphrase"),
    )
    assert "passphrase" in pem.key_fault(locked.decode())
    broken = key.replace(key.splitlines()[1], "AAAA")
    assert "not a private key" in pem.key_fault(broken)
    assert key.splitlines()[1] not in pem.key_fault(broken)


def test_a_key_that_belongs_to_another_certificate_is_refused(pair):
    key, certificate = pair
    assert pem.pair_fault(certificate, key) == ""
    assert pem.pair_fault(certificate, self_signed("else")[0]) == (
        "the private key does not belong to the certificate of db.example: give both of one pair"
    )


def test_what_is_shown_of_them(pair):
    key, certificate = pair
    shown = pem.read_certificate(certificate)
    assert (shown.subject, shown.issuer, shown.count) == ("db.example", "db.example", 1)
    assert len(shown.fingerprint.split(":")) == len(pem.key_fingerprint(key).split(":")) == 32
    assert (
        shown.warning == f"the certificate of db.example expires on {shown.expires_at:%Y-%m-%d}: have a new one ready"
    )


def test_an_expired_and_an_early_certificate_are_warned_of(pair, monkeypatch):
    _, certificate = pair
    now = datetime.datetime.now(datetime.UTC)
    monkeypatch.setattr(pem.timezone, "now", lambda: now + datetime.timedelta(days=9))
    assert "expired on" in pem.read_certificate(certificate).warning
    monkeypatch.setattr(pem.timezone, "now", lambda: now - datetime.timedelta(days=9))
    assert "is not valid before" in pem.read_certificate(certificate).warning

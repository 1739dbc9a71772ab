"""Certificates and keys in PEM: whether they can be used, whether they belong together, and what to show of them."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from django.utils import timezone

EXPIRES_SOON = timedelta(days=30)
KEY = re.compile(r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----.*?-----END (?:[A-Z]+ )?PRIVATE KEY-----", re.DOTALL)


@dataclass(frozen=True)
class Certificate:
    """What may be shown of a certificate; `fingerprint` is its SHA-256, `warning` empty while it is good."""

    subject: str
    issuer: str
    expires_at: datetime
    fingerprint: str
    count: int
    warning: str


def certificate_fault(text: str, _version: object = None) -> str:
    """Why this is not the PEM text of one or more certificates; a private key has no place beside them."""
    if "PRIVATE KEY" in text:
        return "there is a private key in it: give that as the key, and only certificates here"
    try:
        x509.load_pem_x509_certificates(text.encode())
    except ValueError:
        return (
            "this is no certificate in PEM: give the text from -----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----"
        )
    return ""


def key_fault(text: str, _version: object = None) -> str:
    """Why this is not the PEM text of a private key that a program can open by itself; never holds the key."""
    try:
        _key(text)
    except TypeError:
        return "the private key asks for a passphrase, which a pooler can't type: give it without one"
    except (ValueError, UnsupportedAlgorithm):
        return "this is no private key in PEM: give the text from -----BEGIN PRIVATE KEY----- to its END"
    return ""


def pair_fault(certificate: str, key: str) -> str:
    """Why this private key can't be used with this certificate (the first, where there are several)."""
    leaf = x509.load_pem_x509_certificates(certificate.encode())[0]
    if _public(leaf.public_key()) != _public(_key(key).public_key()):
        return f"the private key does not belong to the certificate of {name_of(leaf.subject)}: give both of one pair"
    return ""


def described(text: str) -> Certificate:
    """The first certificate of a text that `certificate_fault` found nothing in, and how many there are."""
    found = x509.load_pem_x509_certificates(text.encode())
    leaf = found[0]
    return Certificate(
        subject=name_of(leaf.subject),
        issuer=name_of(leaf.issuer),
        expires_at=leaf.not_valid_after_utc,
        fingerprint=leaf.fingerprint(hashes.SHA256()).hex(":").upper(),
        count=len(found),
        warning=_warning(found),
    )


def key_fingerprint(text: str) -> str:
    """The SHA-256 of the public half of a private key, by which two keys can be told apart."""
    digest = hashes.Hash(hashes.SHA256())
    digest.update(_public(_key(text).public_key()))
    return digest.finalize().hex(":").upper()


def name_of(name: x509.Name) -> str:
    """The common name, else the whole name; a certificate may have neither."""
    common = name.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return str(common[0].value) if common else name.rfc4514_string() or "no name"


def _key(text: str) -> PrivateKeyTypes:
    found = KEY.search(text)
    if not found:
        raise ValueError("no private key")
    return serialization.load_pem_private_key(found[0].encode(), password=None)


def _public(key: object) -> bytes:
    encoding, form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    return bytes(key.public_bytes(encoding, form))  # type: ignore[attr-defined]  # every kind of public key has it


def _warning(certificates: list[x509.Certificate]) -> str:
    now = timezone.now()
    for one in certificates:
        who = name_of(one.subject)
        if one.not_valid_after_utc <= now:
            return f"the certificate of {who} expired on {one.not_valid_after_utc:%Y-%m-%d}"
        if one.not_valid_before_utc > now:
            return f"the certificate of {who} is not valid before {one.not_valid_before_utc:%Y-%m-%d %H:%M} UTC"
        if one.not_valid_after_utc <= now + EXPIRES_SOON:
            return f"the certificate of {who} expires on {one.not_valid_after_utc:%Y-%m-%d}: have a new one ready"
    return ""

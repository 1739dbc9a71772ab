"""Certificates and keys in PEM: checks that they are usable and belong together, and describes them."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from django.utils import timezone
from django.utils.translation import gettext as _

EXPIRES_SOON = timedelta(days=30)
KEY = re.compile(r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----.*?-----END (?:[A-Z]+ )?PRIVATE KEY-----", re.DOTALL)


@dataclass(frozen=True)
class Certificate:
    """The public facts of a certificate; `fingerprint` is its SHA-256, `warning` empty while it is good."""

    subject: str
    issuer: str
    expires_at: datetime
    fingerprint: str
    count: int
    warning: str


def certificate_fault(text: str, _version: object = None) -> str:
    """Return why this is not the PEM text of certificates without a private key; empty where it is."""
    if "PRIVATE KEY" in text:
        return _("it contains a private key: give that as the key, and only certificates here")
    try:
        x509.load_pem_x509_certificates(text.encode())
    except ValueError:
        return _(
            "this is not a certificate in PEM: give the text from -----BEGIN CERTIFICATE----- "
            "to -----END CERTIFICATE-----"
        )
    return ""


def key_fault(text: str, _version: object = None) -> str:
    """Return why this is not the PEM text of a private key without passphrase; never contains the key."""
    try:
        _key(text)
    except TypeError:
        return _("the private key has a passphrase, which a pooler can't enter: give it without one")
    except (ValueError, UnsupportedAlgorithm):
        return _("this is not a private key in PEM: give the text from -----BEGIN PRIVATE KEY----- to its END")
    return ""


def pair_fault(certificate: str, key: str) -> str:
    """Return why this private key can't be used with this certificate (the first, where there are several)."""
    leaf = x509.load_pem_x509_certificates(certificate.encode())[0]
    if _public(leaf.public_key()) != _public(_key(key).public_key()):
        return _("the private key does not belong to the certificate of %(subject)s: give both of one pair") % {
            "subject": name_of(leaf.subject)
        }
    return ""


def read_certificate(text: str) -> Certificate:
    """Describe the first certificate of a text without `certificate_fault`, and count all of them."""
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


def ends_of(text: str) -> list[tuple[datetime, str]]:
    """List the end of each certificate of a text with its subject; none for a text without certificates."""
    if "-----BEGIN CERTIFICATE-----" not in text:
        return []
    found = x509.load_pem_x509_certificates(text.encode())
    return [(one.not_valid_after_utc, name_of(one.subject)) for one in found]


def key_fingerprint(text: str) -> str:
    """Return the SHA-256 of the public half of a private key, which identifies it."""
    digest = hashes.Hash(hashes.SHA256())
    digest.update(_public(_key(text).public_key()))
    return digest.finalize().hex(":").upper()


def name_of(name: x509.Name) -> str:
    """Return the common name, else the whole name, or a placeholder without either."""
    common = name.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return str(common[0].value) if common else name.rfc4514_string() or _("no name")


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
        params = {
            "subject": name_of(one.subject),
            "begin": f"{one.not_valid_before_utc:%Y-%m-%d %H:%M}",
            "end": f"{one.not_valid_after_utc:%Y-%m-%d}",
        }
        if one.not_valid_after_utc <= now:
            return _("the certificate of %(subject)s expired on %(end)s") % params
        if one.not_valid_before_utc > now:
            return _("the certificate of %(subject)s is not valid before %(begin)s UTC") % params
        if one.not_valid_after_utc <= now + EXPIRES_SOON:
            return _("the certificate of %(subject)s expires on %(end)s: have a new one ready") % params
    return ""

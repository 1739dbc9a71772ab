"""Certificates made for tests."""

import datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID


def self_signed(
    host: str,
    key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | None = None,
    until: datetime.datetime | None = None,
) -> tuple[str, str]:
    """A key and a certificate for the host, signed by itself, as PEM; it ends in a day unless `until` is given."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    until = until or now + day
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(now, until) - day)
        .not_valid_after(until)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return private.decode(), made.public_bytes(serialization.Encoding.PEM).decode()

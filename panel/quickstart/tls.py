"""The private certificate authority of `script/up --https`, and its certificate for this machine's loopback names."""

import ipaddress
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from core.lib import private_files

AUTHORITY_LASTS = timedelta(days=3650)
LASTS = timedelta(days=397)  # the longest validity that clients accept (CA/Browser Forum, since 2020)
RENEWED_BEFORE = timedelta(days=30)
CLOCKS_DIFFER = timedelta(hours=1)
NAMES = ("localhost",)
ADDRESSES = ("127.0.0.1", "::1")


@dataclass(frozen=True)
class TlsFiles:
    """PEM files: the authority that clients trust, and the server's certificate and key."""

    authority: Path
    certificate: Path
    key: Path

    def client_context(self) -> ssl.SSLContext:
        """Return the context of a client that trusts this authority only."""
        return ssl.create_default_context(cafile=str(self.authority))


@dataclass(frozen=True)
class _Issuer:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def ensure(folder: Path) -> TlsFiles:
    """Return the files in a folder; create the authority at first use, and renew the certificate before it expires."""
    folder.mkdir(mode=0o700, exist_ok=True)
    files = TlsFiles(folder / "ca.pem", folder / "server.pem", folder / "server.key")
    authority_key = folder / "ca.key"
    if not files.authority.exists() or not authority_key.exists() or _expires_soon(files.authority):
        _create_authority(files.authority, authority_key)
        files.certificate.unlink(missing_ok=True)
    if not files.certificate.exists() or not files.key.exists() or _expires_soon(files.certificate):
        _create_certificate(files, _read(files.authority, authority_key))
    return files


def _expires_soon(path: Path) -> bool:
    certificate = x509.load_pem_x509_certificate(path.read_bytes())
    return certificate.not_valid_after_utc - RENEWED_BEFORE < datetime.now(UTC)


def _read(certificate: Path, key: Path) -> _Issuer:
    loaded = serialization.load_pem_private_key(key.read_bytes(), None)
    if not isinstance(loaded, ec.EllipticCurvePrivateKey):
        raise TypeError(f"{key} holds no key of an elliptic curve: delete it, a new one is created")
    return _Issuer(x509.load_pem_x509_certificate(certificate.read_bytes()), loaded)


def _create_authority(certificate: Path, key_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("Pooldeck's private authority")
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    made = (
        _builder(name, name, key, AUTHORITY_LASTS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    _write(certificate, made, key_path, key)


def _create_certificate(files: TlsFiles, issuer: _Issuer) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    names = [x509.DNSName(name) for name in NAMES]
    addresses = [x509.IPAddress(ipaddress.ip_address(address)) for address in ADDRESSES]
    issued_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.key.public_key())
    certificate = (
        _builder(_name(NAMES[0]), issuer.certificate.subject, key, LASTS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([*names, *addresses]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(issued_by, critical=False)
        .sign(issuer.key, hashes.SHA256())
    )
    _write(files.certificate, certificate, files.key, key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, lasts: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCKS_DIFFER)
        .not_valid_after(now + lasts)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _write(path: Path, certificate: x509.Certificate, key_path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    """Write the key first: a certificate without its key would be served by nobody."""
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    private_files.replace(key_path, private.decode())
    private_files.replace(path, certificate.public_bytes(serialization.Encoding.PEM).decode())

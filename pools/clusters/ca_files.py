"""Writes the certificate authorities of clusters to files, since libpq reads them from a path only."""

import hashlib
import os
import tempfile
from pathlib import Path

from cryptography import x509
from django.conf import settings
from django.utils.translation import gettext as _


def problem(pem: str) -> str:
    """Return why this is not the PEM text of certificates; empty where it is."""
    try:
        x509.load_pem_x509_certificates(pem.encode())
    except ValueError:
        return _(
            "this is not a certificate in PEM: paste the text from -----BEGIN CERTIFICATE----- to"
            " -----END CERTIFICATE-----"
        )
    return ""


def path_of(pem: str) -> str:
    """Return the path of a file (0600, under the home) with this text; named by its content, it never goes stale."""
    folder = Path(settings.HOME) / "certificates"
    path = folder / f"{hashlib.sha256(pem.encode()).hexdigest()}.pem"
    if not path.is_file():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(path, pem)
    return str(path)


def _write(path: Path, pem: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent)  # 0600
    with os.fdopen(handle, "w") as file:
        file.write(pem)
    Path(temporary).replace(path)

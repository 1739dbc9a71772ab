"""The files that people gave to a pooler (keys, certificates, rules), as far as they may be shown."""

from dataclasses import dataclass
from datetime import datetime

from core.lib.crypto import SealBroken
from pools.inventory import pooler_settings_validation
from pools.models import Pooler, PoolerFile
from pools.poolers import pem
from pools.poolers.settings_schema import Setting


@dataclass(frozen=True)
class GivenFile:
    """A setting that points to a file, with the stored one as far as it may be shown.

    `text` is empty for files that may hold secrets.
    """

    setting: Setting
    file: PoolerFile | None
    certificate: pem.Certificate | None = None
    fingerprint: str = ""
    text: str = ""
    broken: bool = False

    @property
    def given_at(self) -> datetime | None:

        return self.file.updated_at if self.file else None


def listed(pooler: Pooler) -> list[GivenFile]:
    """Return every file that the pooler's release takes, with the facts of the stored one, but no private key."""
    stored = {one.setting: one for one in pooler.given_files.select_related("author")}
    return [
        read(setting, stored.get(name)) for name, setting in pooler_settings_validation.files_offered(pooler).items()
    ]


def read(setting: Setting, file: PoolerFile | None) -> GivenFile:
    """Return a description of a file without secrets: a key's fingerprint, a certificate's facts, or the text."""
    if file is None:
        return GivenFile(setting, None)
    try:
        content = file.content
    except SealBroken:
        return GivenFile(setting, file, broken=True)
    if "PRIVATE KEY-----" in content:
        return GivenFile(setting, file, fingerprint=pem.key_fingerprint(content))
    if "-----BEGIN CERTIFICATE-----" in content:
        certificate = pem.read_certificate(content)
        return GivenFile(setting, file, certificate, certificate.fingerprint)
    secret = (
        "passwd" in content.lower() or "secret" in content.lower()
    )  # an HBA rule may hold an LDAP password or a RADIUS secret
    return GivenFile(setting, file, text="" if secret else content)

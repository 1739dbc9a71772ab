"""Secrets at rest: encrypted with MultiFernet under the panel's keys and bound to the record they belong to."""

import hashlib
import hmac
import json
from functools import cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.utils.translation import gettext as _

SHOWN_CHARACTERS = 12  # of a fingerprint


class SealBroken(Exception):
    """A stored secret can't be decrypted with the configured keys, or belongs to another record."""


def fingerprint(key: str) -> str:
    """Return a digest that identifies the key, and from which the key, 32 random bytes, can't be computed."""
    return hmac.digest(key.encode(), b"pooldeck backup", hashlib.sha256).hex()[:SHOWN_CHARACTERS]


@cache
def _fernet(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])


def seal(secret: str, owner: str) -> str:
    """Encrypt the secret with the first key; `owner` (such as `cluster:UUID`) becomes part of the plaintext."""
    return _fernet(tuple(settings.POOLDECK_KEYS)).encrypt(json.dumps([owner, secret]).encode()).decode()


def unseal(sealed: str, owner: str) -> str:
    """Decrypt the secret; raises `SealBroken` where no key does or where it was sealed for another record."""
    if not sealed:
        return ""
    try:
        found, secret = json.loads(_fernet(tuple(settings.POOLDECK_KEYS)).decrypt(sealed.encode()))
    except InvalidToken as error:
        raise SealBroken(_("no key of POOLDECK_KEYS decrypts the secret of %(owner)s") % {"owner": owner}) from error
    if found != owner:
        raise SealBroken(_("the secret stored at %(owner)s belongs to %(found)s") % {"owner": owner, "found": found})
    return str(secret)

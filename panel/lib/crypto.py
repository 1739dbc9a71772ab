"""Secrets at rest: sealed with MultiFernet under the panel's own key and bound to the record they belong to."""

import json
from functools import cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class SealBroken(Exception):
    """A stored secret can't be opened with the keys at hand, or belongs to another record."""


@cache
def _fernet(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])


def seal(secret: str, owner: str) -> str:
    """The secret encrypted with the first key; `owner` (say, `cluster:UUID`) is part of the plaintext."""
    return _fernet(tuple(settings.POOLDECK_KEYS)).encrypt(json.dumps([owner, secret]).encode()).decode()


def unseal(sealed: str, owner: str) -> str:
    """The secret; raises `SealBroken` when no key opens it or it was sealed for another record."""
    if not sealed:
        return ""
    try:
        found, secret = json.loads(_fernet(tuple(settings.POOLDECK_KEYS)).decrypt(sealed.encode()))
    except InvalidToken as error:
        raise SealBroken(f"no key of POOLDECK_KEYS opens the secret of {owner}") from error
    if found != owner:
        raise SealBroken(f"a secret stored for {found} was found at {owner}")
    return str(secret)

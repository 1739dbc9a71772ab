"""Secrets that are known to the test, in every form in which a program may write them."""

import hashlib
import hmac
import html
import json
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

MARK = "zqCanary"  # in each secret that the test chooses; what the panel makes has none
VERIFIER = re.compile(rb"SCRAM-SHA-256\$(\d{1,5}):([\w+/=]{8,})\$([\w+/=]{44}):([\w+/=]{44})")
DIGEST = re.compile(rb"\b[0-9a-f]{32,64}\b|md5[0-9a-f]{32}")
PDF_STREAM = re.compile(rb"stream\r?\n(.*?)endstream", re.DOTALL)


def chosen(name: str) -> str:
    """A secret with signs that mean something in URLs, JSON, HTML, SQL and configuration files."""
    return f"{MARK}-{name}-7f3a/+9c&e1'd2\"é <%"


def plain(name: str) -> str:
    """A secret for where such signs can't stand; of letters, digits and dashes."""
    return f"{MARK}-{name.replace(' ', '-')}-7f3a9ce1d2b4a6c8f0e2"[:36]


def written(secret: str) -> set[bytes]:
    """The secret as it is and as URLs, JSON, HTML, SQL, files of poolers, hex and base64 have it."""
    as_json = json.dumps(secret)[1:-1]
    texts = {secret, quote(secret, safe=""), quote(secret), quote_plus(secret), as_json, json.dumps(as_json)[1:-1]}
    texts |= {json.dumps(secret, ensure_ascii=False)[1:-1], html.escape(secret), secret.replace("'", "''")}
    texts |= {secret.replace('"', '""'), secret.replace("'", "&#x27;"), secret.encode("unicode_escape").decode()}
    texts |= {repr(secret)[1:-1], secret.replace("'", "\\'"), secret.encode().hex(), secret.encode().hex().upper()}
    return {text.encode() for text in texts} | set(in_base64(secret.encode()))


def in_base64(secret: bytes) -> Iterator[bytes]:
    """The part of base64 that the secret alone decides, at each of the three places where it can begin."""
    for before in range(3):
        text = b64encode(bytes(before) + secret)
        own = text[-(-before * 8 // 6) : len(text) - 4]
        yield own
        yield own.replace(b"+", b"-").replace(b"/", b"_")


def digests(secret: str, users: tuple[str, ...]) -> set[bytes]:
    """What a dictionary could be tried on: MD5 as PostgreSQL stores it, and plain digests."""
    encoded = secret.encode()
    found = {hashlib.md5(encoded + user.encode(), usedforsecurity=False).hexdigest() for user in ("", *users)}
    found |= {hashlib.sha1(encoded, usedforsecurity=False).hexdigest(), hashlib.sha256(encoded).hexdigest()}
    return {digest.encode() for digest in found}


MARKS = written(MARK)


class Secrets:
    """Named secrets, which are looked for in bytes of any kind."""

    def __init__(self, users: tuple[str, ...]) -> None:
        self.users = users
        self.known: dict[str, str] = {}
        self._marked: dict[str, set[bytes]] = {}
        self._others: dict[str, set[bytes]] = {}
        self._digests: dict[bytes, str] = {}
        self._verified: dict[tuple[bytes, ...], set[str]] = {}

    def add(self, name: str, secret: str, *, is_stored_hashed: bool = False) -> str:
        """Look for this one from now on; returns it. Of 256 random bits a digest tells nothing, so it may be stored."""
        self.known[name] = secret
        (self._marked if MARK in secret else self._others)[name] = written(secret)
        if not is_stored_hashed:
            self._digests |= dict.fromkeys(digests(secret, self.users), name)
        self._verified.clear()
        return secret

    def choose(self, name: str, *, is_plain: bool = False) -> str:
        """Make one."""
        return self.add(name, plain(name) if is_plain else chosen(name))

    def found_in(self, text: bytes) -> set[str]:
        """The names of all secrets that it holds, compressed streams of PDF included."""
        for stream in PDF_STREAM.findall(text) if text.startswith(b"%PDF") else ():
            text += _inflated(stream)
        forms = self._others | (self._marked if any(mark in text for mark in MARKS) else {})
        names = {name for name, written in forms.items() if any(form in text for form in written)}
        names |= {self._digests[one] for one in map(_bare, DIGEST.findall(text)) if one in self._digests}
        return names | {name for found in VERIFIER.findall(text) for name in self._of_verifier(found)}

    def _of_verifier(self, found: tuple[bytes, ...]) -> set[str]:
        if found not in self._verified:
            rounds, salt, stored, _ = found
            self._verified[found] = {
                f"verifier of {name}"
                for name, secret in self.known.items()
                if stored_key(secret, b64decode(salt), int(rounds)) == stored
            }
        return self._verified[found]


def _bare(digest: bytes) -> bytes:
    return digest.removeprefix(b"md5")


def stored_key(password: str, salt: bytes, rounds: int) -> bytes:
    """The part of a SCRAM verifier that a password is tried on (RFC 5803)."""
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, rounds)
    return b64encode(hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest())


def _inflated(stream: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(stream.strip(b"\r\n"))
    except zlib.error:
        return b""

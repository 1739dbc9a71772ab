"""What the trail never holds: passwords, keys and tokens, wherever they stand in a value."""

import hashlib
import re
from collections.abc import Mapping

from core.audit.tracking import CHANGED

TEXT_CHARACTERS = 4000
_SECRET_NAME = re.compile(
    r"passw|secret|token|authorization|cookie|private_key|passphrase|sealed_|bindpw", re.IGNORECASE
)
_SECRET_TEXTS = [
    (re.compile(r"(://[^/\s:@]*):[^@\s/]+@"), rf"\1:{CHANGED}@"),  # a URI's
    (
        re.compile(r"((?:password|passwd|secret|token|bindpw)\w*[\"']?\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|[^\s,;&]+)", re.I),
        rf"\1{CHANGED}",
    ),
    (re.compile(r"\bpd_[\w-]{20,}"), CHANGED),  # the panel's own tokens
    # Sealed values: a rotation of the keys would write them anew, here too, and break the chain.
    (re.compile(r"gAAAAA[\w-]{94,}=*"), CHANGED),
    (re.compile(r"(SCRAM-SHA-256\$|\bmd5)[\w$:+/=]{20,}"), CHANGED),  # PostgreSQL's verifiers
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL), CHANGED),
    (re.compile(r"\b(Bearer|Basic) [\w.+/=-]{8,}", re.I), rf"\1 {CHANGED}"),
]


def safe(value: object) -> object:
    """Return the value as the trail may hold it: long texts are cut, and secrets replaced by the word `changed`."""
    if isinstance(value, Mapping):
        return {str(name): _safe_member(str(name), one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [safe(one) for one in value]
    return _cut(without_secrets(value)) if isinstance(value, str) else value


def _safe_member(name: str, value: object) -> object:
    is_secret = _SECRET_NAME.search(name) and not isinstance(value, bool) and value not in ("", None)
    return CHANGED if is_secret else safe(value)


def without_secrets(text: str) -> str:
    """Return the text with what looks like a password, a key or a token replaced."""
    for pattern, replacement in _SECRET_TEXTS:
        text = pattern.sub(replacement, text)
    return text


def _cut(text: str) -> str:
    if len(text) <= TEXT_CHARACTERS:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"{text[:TEXT_CHARACTERS]}… ({len(text)} characters, SHA-256 {digest})"

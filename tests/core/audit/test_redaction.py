"""No secret stands in the trail, whatever it stands in."""

import json

import pytest

from core.audit import redaction
from core.audit.recording import change_of

CANARY = "c4n4ry-9f8e7d6c5b4a"


@pytest.mark.parametrize(
    "value",
    [
        {"password": CANARY},
        {"settings": {"ldap_bind_password": CANARY}},
        {"headers": [{"Authorization": f"Bearer {CANARY}"}]},
        {"headers": [f"Authorization: Bearer {CANARY}"]},
        {"uri": f"postgresql://app:{CANARY}@db/shop"},
        {"conninfo": f"host=db password={CANARY} user=app"},
        {"conninfo": f"host=db password='{CANARY}' user=app"},
        {"text": f"-----BEGIN OPENSSH PRIVATE KEY-----\n{CANARY}\n-----END OPENSSH PRIVATE KEY-----"},
        {"token": f"pd_{CANARY}{CANARY}"},
        {"note": f"used pd_{CANARY}{CANARY} today"},
        {"verifier": f"SCRAM-SHA-256$4096:{CANARY.replace('-', '')}$x:y"},
        {"body": f'{{"secret": "{CANARY}"}}'},
    ],
    ids=lambda value: next(iter(value)),
)
def test_a_secret_is_replaced(value: dict[str, object]) -> None:
    text = change_of(value, value)
    assert CANARY not in text
    assert CANARY.replace("-", "") not in text
    assert "changed" in text


def test_other_values_stay() -> None:
    value = {"name": "shop", "size": 5, "settings": {"pool_mode": "session"}, "password_known": True, "secret": ""}
    assert json.loads(change_of(value, None)) == {"before": value}


def test_long_texts_are_cut_with_their_length_and_digest() -> None:
    one, another = (str(redaction.safe("x" * 10_000 + end)) for end in "ab")
    assert len(one) < 5000
    assert "10001 characters" in one
    assert one != another

"""Examples of the operations on tokens."""

from django.utils.translation import gettext_lazy as _

from core.rest.examples import Examples

TOKEN = {
    "id": "c1a4de6c-2a0f-4f4c-9c1b-8b7a6d5e4f30",
    "name": "ci",
    "user": "admin",
    "prefix": "pd_EXAMPL",
    "scopes": ["read", "run"],
    "limited_to": None,
    "expires_at": "2099-12-31T23:59:59Z",
    "last_used_at": "2026-03-05T16:10:02Z",
    "revoked_at": None,
}

EXAMPLES = Examples(
    components={
        "Token": TOKEN,
        "NewToken": TOKEN | {"last_used_at": None, "token": "pd_EXAMPLE-TOKEN-THAT-IS-SHOWN-ONCE"},
    },
    requests={
        "tokens_create": [
            (
                _("A token for a CI job that reads and runs benchmarks"),
                {"name": "ci", "scopes": ["read", "run"], "expires_at": "2099-12-31T23:59:59Z"},
            ),
            (_("A token that only reads and does not expire"), {"name": "dashboard", "scopes": ["read"]}),
        ]
    },
)

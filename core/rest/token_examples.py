"""Examples of the operations on tokens."""

from django.utils.translation import gettext_lazy as _

from core.rest.examples import Examples

EXAMPLES = Examples(
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

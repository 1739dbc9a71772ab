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
            (
                _("A token of a team, which stays when the person who made it goes, for one cluster only"),
                {
                    "name": "deployer",
                    "team": "00000000-0000-4000-8000-000000000001",
                    "role": "operator",
                    "scopes": ["read", "apply"],
                    "cluster": "5b0c1a52-9c0b-4c39-8d7e-0d2b8f1f6f10",
                },
            ),
            (_("A token that only reads and does not expire"), {"name": "dashboard", "scopes": ["read"]}),
        ]
    },
)

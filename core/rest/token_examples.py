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
                    "cluster": "0b8f3c52-6f1d-4f0e-8f0a-3f6f1a2b7c10",
                },
            ),
            (_("A token that only reads and does not expire"), {"name": "dashboard", "scopes": ["read"]}),
        ]
    },
)

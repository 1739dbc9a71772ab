"""Values of fields that many serializers have."""

from core.rest.examples import Examples

EXAMPLES = Examples(
    fields={
        "created_at": "2026-03-02T09:30:00Z",
        "updated_at": "2026-03-05T16:12:45Z",
        "checked_at": "2026-03-05T16:12:00Z",
        "error": "",
        "next": None,
        "previous": None,
    },
)

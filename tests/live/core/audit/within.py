"""Run within the environment of a panel, as its commands are: what prepares its data, and what stands in these.

`python -m tests.live.core.audit.within prepare|stands|verdicts [JSON]` prints JSON.
"""

import json
import sys
from io import StringIO
from typing import Any

import django
from django.core.serializers.json import DjangoJSONEncoder

django.setup()

from django.contrib.auth.models import User  # noqa: E402 (models, once Django is set up)
from django.core.management import CommandError, call_command  # noqa: E402 (as above)
from django.db import connection  # noqa: E402 (as above)

from core.accounts.models import ApiToken, Membership, Scope, Team  # noqa: E402 (as above)
from core.audit import redaction  # noqa: E402 (as above)
from core.audit.models import Entry  # noqa: E402 (as above)
from core.audit.tracking import CHANGED, TRACKED, TrackedModel  # noqa: E402 (as above)

EMPTY: tuple[object, ...] = (None, "", [], {})
PASSWORD = "a-password-of-the-test"
PEOPLE = 12


def prepare() -> dict[str, Any]:
    """Make an administrator with a token, and people who are in no team yet."""
    admin = User.objects.create_superuser("admin", password=PASSWORD)
    people = [User.objects.create_user(f"person-{number}") for number in range(PEOPLE)]
    Membership.objects.filter(user__in=people).delete()  # the only team takes everybody in
    return {
        "password": PASSWORD,
        "token": ApiToken.objects.issue(admin, "of the test", list(Scope)),
        "team": str(Team.objects.get().pk),
        "people": {one.username: one.pk for one in people},
    }


def stands() -> dict[str, Any]:
    """Return the rows of all tracked models, and the whole trail."""
    return {
        "rows": {model._meta.label: rows_of(tracked) for model, tracked in TRACKED.items()},
        "entries": [entry_of(one) for one in Entry.objects.order_by("number")],
    }


def rows_of(tracked: TrackedModel) -> list[dict[str, Any]]:
    """Return each row as the trail has it: the id of the object, and the columns that are not empty."""
    about = f"{tracked.path}__pk" if tracked.path else "pk"
    found = tracked.model._base_manager.values_list(about, *tracked.fields)
    return [{"object": str(about), "values": _values(tracked, values)} for about, *values in found]


def _values(tracked: TrackedModel, values: list[object]) -> dict[str, object]:
    filled = {name: one for name, one in zip(tracked.fields, values, strict=True) if one not in EMPTY}
    plain = {name.removeprefix("sealed_"): CHANGED if name in tracked.secrets else one for name, one in filled.items()}
    safe: dict[str, object] = redaction.safe(plain)  # type: ignore[assignment]  # of a mapping, a mapping
    return safe


def entry_of(entry: Entry) -> dict[str, Any]:
    """Return what is compared of an entry."""
    names = ("number", "actor_kind", "actor_name", "asked_by", "source", "action", "object_kind", "object_id")
    found = {name: getattr(entry, name) for name in (*names, "object_name", "reason", "outcome")}
    return found | {"before": entry.fields.get("before", {}), "after": entry.fields.get("after", {})}


def verdicts(asked: list[dict[str, str]]) -> list[str]:
    """Return what verify_audit says after each statement of somebody who may write there, and undo it."""
    found = []
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE kept AS SELECT * FROM audit_entry")
        for one in asked:
            cursor.execute(one["statement"])
            found.append(_verdict(one["head"]))
            cursor.execute("DELETE FROM audit_entry")
            cursor.execute("INSERT INTO audit_entry SELECT * FROM kept")
    return [*found, _verdict("")]


def _verdict(head: str) -> str:
    printed = StringIO()
    try:
        call_command("verify_audit", *(["--head", head] if head else []), stdout=printed)
    except CommandError as error:
        return str(error)
    return printed.getvalue()


if __name__ == "__main__":
    given = [json.loads(one) for one in sys.argv[2:]]
    json.dump(globals()[sys.argv[1]](*given), sys.stdout, cls=DjangoJSONEncoder)

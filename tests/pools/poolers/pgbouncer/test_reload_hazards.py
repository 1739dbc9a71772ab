"""What is found before a reload of what it would break of the operator's."""

from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from pools.models import Pooler
from pools.poolers.faults import Rejected
from pools.poolers.pgbouncer import console, reload_hazards
from pools.poolers.pgbouncer.database_entries import Entry
from pools.poolers.pgbouncer.operators_config import Operators
from pools.poolers.pgbouncer.reload_hazards import Hazards

OTHERS = [{"database": f"a{number:02}", "user": f"other{number}"} for number in range(reload_hazards.MOST_TRIED)]
SHOWN = {"databases": [], "pools": [*OTHERS, {"database": "operators", "user": "app"}]}


def test_a_user_is_tried_however_many_others_the_operators_entries_look_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**login: object) -> None:
        raise psycopg.OperationalError(f"password authentication failed for {login['user']}")

    monkeypatch.setattr(console, "rows", lambda _connection, word: SHOWN[word])
    monkeypatch.setattr(psycopg, "connect", refuse)
    pool = SimpleNamespace(pk=uuid4())
    entry = Entry(str(pool.pk), "orders", "h", 5432, "orders", "app", "secret", "", "transaction", 5)
    pooler = Pooler(host="h", port=6432)
    operators = Operators(auth_user="looker")
    drafted: Any = SimpleNamespace(disk={}, asked=[(pool, entry)], operators=operators, pooler=pooler)
    one: Any = object()
    with pytest.raises(Rejected, match="entry operators, which is not the panel's, looks up app") as refused:
        Hazards(drafted, [one], "PgBouncer 1.24.1", {"orders"}, is_disk_sure=True).refuse_lockout()
    assert refused.value.pools == frozenset({pool.pk})

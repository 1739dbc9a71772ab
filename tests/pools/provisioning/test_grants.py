"""The statements behind a role's access; what they are worth on a server: tests/live/pools/provisioning."""

import pytest

from pools.provisioning import grants
from pools.provisioning.grants import Access

ODD = 'o"dd; DROP'


def texts(statements):
    return [statement.as_string(None) for statement in statements]


def test_connecting_needs_one_grant():
    assert texts(grants.grant_statements("shop", "till", Access.CONNECT, ["public"], ["app"])) == [
        'GRANT CONNECT ON DATABASE "shop" TO "till"'
    ]


def test_reading_covers_every_schema_and_what_every_maker_makes_later():
    assert texts(grants.grant_statements("shop", ODD, Access.READ, ["public", ODD], ["app"])) == [
        'GRANT CONNECT ON DATABASE "shop" TO "o""dd; DROP"',
        'GRANT USAGE ON SCHEMA "public" TO "o""dd; DROP"',
        'GRANT SELECT ON ALL TABLES IN SCHEMA "public" TO "o""dd; DROP"',
        'GRANT SELECT ON ALL SEQUENCES IN SCHEMA "public" TO "o""dd; DROP"',
        'GRANT USAGE ON SCHEMA "o""dd; DROP" TO "o""dd; DROP"',
        'GRANT SELECT ON ALL TABLES IN SCHEMA "o""dd; DROP" TO "o""dd; DROP"',
        'GRANT SELECT ON ALL SEQUENCES IN SCHEMA "o""dd; DROP" TO "o""dd; DROP"',
        'ALTER DEFAULT PRIVILEGES FOR ROLE "app" GRANT SELECT ON TABLES TO "o""dd; DROP"',
        'ALTER DEFAULT PRIVILEGES FOR ROLE "app" GRANT SELECT ON SEQUENCES TO "o""dd; DROP"',
    ]


def test_owning_is_one_statement():
    assert texts(grants.grant_statements("shop", "till", Access.OWN, ["public"], ["app"])) == [
        'ALTER DATABASE "shop" OWNER TO "till"'
    ]


@pytest.mark.parametrize("access", [Access.CONNECT, Access.READ, Access.WRITE])
def test_all_that_can_be_given_is_taken_back_and_nothing_is_ever_dropped(access):
    given = texts(grants.grant_statements("shop", "till", access, ["public"], ["app"]))
    taken = texts(grants.revoke_statements("shop", "till", ["public"], ["app"]))
    targets = {statement.partition(" ON ")[2].partition(" TO ")[0] for statement in given}
    assert targets <= {statement.partition(" ON ")[2].partition(" FROM ")[0] for statement in taken}
    assert [statement for statement in taken if "REVOKE" not in statement or "DROP" in statement] == []

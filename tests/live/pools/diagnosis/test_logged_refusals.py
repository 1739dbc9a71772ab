"""What a server said as it refused a PgBouncer's login, read from the log of each release at hand."""

import pytest

from panel.quickstart.servers import PostgresServer
from pools.diagnosis import diagnosis, log_reasons
from pools.models import Pooler
from tests.live.pools.diagnosis.conftest import Clients
from tests.pools.records import an_entry

pytestmark = pytest.mark.django_db(transaction=True)
SAID = {
    "wrong": 'password authentication failed for user "diagnosis_wrong"',
    "limited": 'too many connections for role "diagnosis_limited"',
    "closed": 'database "diagnosis_closed" is not currently accepting connections',
}


@pytest.mark.parametrize("name", SAID)
def test_an_entry_whose_server_is_not_registered_tells_what_it_said(
    name: str, bouncer_pooler: Pooler, clients: Clients, prepared: PostgresServer
) -> None:
    entry = an_entry(pooler=bouncer_pooler, name=name, cluster=None)
    clients.logging_in(name, count=1)
    clients.wait_for(lambda: log_reasons.last_server_refusal(log_reasons.read(bouncer_pooler).lines, name))
    found = diagnosis.of(entry)
    assert found.cause == "server_logins"
    lead = f"The server refuses logins, so pool {name} has no connection: {SAID[name]} (its log at 20"
    assert found.finding.sentence.startswith(lead)


def test_the_refusal_of_another_database_is_not_taken_for_its_own(
    bouncer_pooler: Pooler, clients: Clients, prepared: PostgresServer
) -> None:
    clients.logging_in("wrong", count=1)
    clients.wait_for(lambda: log_reasons.last_server_refusal(log_reasons.read(bouncer_pooler).lines, "wrong"))
    found = diagnosis.of(an_entry(pooler=bouncer_pooler, name="kept", cluster=None))
    assert found.cause == ""

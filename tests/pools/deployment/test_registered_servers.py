"""The cluster that an entry of a pooler's own files leads to."""

import pytest

from core.accounts.models import Team
from pools.deployment.registered_servers import Servers
from pools.models import ClusterNode
from pools.poolers.entry_logins import EntryLogin
from tests.pools.records import a_cluster, a_pooler, checked

pytestmark = pytest.mark.django_db

UNREACHED = EntryLogin(error="no password of its users is known")


def test_it_is_the_one_at_the_address_or_with_the_identifier():
    cluster = a_cluster(host="db1.example.org", port=5432)
    checked(cluster, system_identifier="7")
    servers = Servers(a_pooler())
    assert servers.find("db1.example.org", 5432, UNREACHED) == (cluster, "")
    assert servers.find("10.0.0.7", 5432, EntryLogin(identifier="7")) == (cluster, "")
    none, why = servers.find("10.0.0.8", 5432, UNREACHED)
    assert none is None
    assert why == "no cluster is registered for 10.0.0.8:5432: register it, then it can become a pool"


def test_a_cluster_of_another_team_is_not_found_by_whatever_leads_there():
    """Else who owns a pooler would get pools of any cluster, and store passwords for it, by naming its address."""
    team = Team.objects.create(name="Payments")
    cluster = a_cluster(host="db1.example.org", port=5432, team=team)
    ClusterNode.objects.create(cluster=cluster, host="db2.example.org", port=5432)
    checked(cluster, system_identifier="7")
    pooler, logins = a_pooler(), (UNREACHED, EntryLogin(identifier="7"))
    places = [(host, login) for host in ("db1.example.org", "db2.example.org", "10.0.0.7") for login in logins]
    why = (
        "no cluster of the pooler's team is registered for %s:5432: register it, or have it shared with the team, "
        "then it can become a pool"
    )
    servers = Servers(pooler)
    assert [servers.find(host, 5432, login) for host, login in places] == [(None, why % host) for host, _ in places]
    cluster.shared_with.add(pooler.team)
    assert Servers(pooler).find("db1.example.org", 5432, UNREACHED) == (cluster, "")
    assert Servers(a_pooler(team=team)).find("db2.example.org", 5432, logins[1]) == (cluster, "")

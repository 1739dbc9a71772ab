"""A settings profile before a real server: its page and its API say what that would do with each setting."""

import pytest

from benchmarks.models import SettingsProfile
from pools.models import Cluster
from tests.callers import bearer
from tests.pages import page_of

VALUES = {"work_mem": "512MB", "max_wal_senders": "3", "synchronous_commit": "off", "no_such": "1"}


@pytest.fixture
def profile(db: None) -> SettingsProfile:
    return SettingsProfile.objects.create(name="tuned", values=VALUES)


def test_the_api_tells_each_setting(cluster: Cluster, profile: SettingsProfile):
    Cluster.objects.filter(pk=cluster.pk).update(memory_mb=8192)
    found = bearer("read").get(f"/api/v1/settings-profiles/{profile.pk}/check/", {"cluster": str(cluster.pk)}).json()
    by_name = {one["name"]: one for one in found["findings"]}
    found_work_mem = by_name["work_mem"]
    assert (found_work_mem["now"], found_work_mem["changes"], found_work_mem["problem"]) == ("4MB", True, "")
    assert by_name["no_such"]["problem"] == "this server has no setting no_such: leave it out"
    assert (found["to_restart"], found["may_restart"]) == (["max_wal_senders"], False)
    assert "command line" in by_name["synchronous_commit"]["problem"]  # the tests' server has it there
    assert found["warnings"][0].startswith("the memory budget breaks: 51.0 GB in the worst case against 8.0 GB of RAM")


def test_the_page_tells_it_too(admin_client, cluster: Cluster, profile: SettingsProfile):
    text = page_of(admin_client.get(f"/settings-profiles/{profile.pk}/", {"cluster": str(cluster.pk)}))
    for part in ("a reload", "a restart, which the panel may not do", "this server has no setting no_such"):
        assert part in text

"""The examples of delivery `pull` hold together: mounts, volumes, variables of the loop, and names of files."""

import re
from pathlib import Path

import yaml

from pools.models import Pooler
from pools.poolers import KINDS

FOLDER = Path(__file__).parents[1] / "docs/pull"


def delivered() -> set[str]:
    """The names of the files with which a pooler starts."""
    pooler = Pooler(name="front", admin_user="pooldeck", config_dir="/pooldeck", delivery="pull")
    kind = KINDS["pgbouncer"]
    return {kind.fetched_names.get(name, name) for name in kind.first_texts(pooler)}


def test_the_manifest_mounts_what_it_names_and_reads_the_files_that_are_delivered():
    config, service, deployment = yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text())
    assert [one["kind"] for one in (config, service, deployment)] == ["ConfigMap", "Service", "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    volumes = {one["name"] for one in pod["volumes"]}
    containers = [*pod["initContainers"], *pod["containers"]]
    assert all(mount["name"] in volumes for one in containers for mount in one["volumeMounts"])
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == labels == deployment["spec"]["selector"]["matchLabels"]
    assert pod["shareProcessNamespace"] is True
    assert all(
        one["apiVersion"] in ("v1", "apps/v1") and one["metadata"]["name"] for one in (config, service, deployment)
    )
    assert all(isinstance(text, str) for text in config["data"].values())
    assert all(one["name"] and one["image"] and one["command"] for one in containers)
    named = set(re.findall(r"/pooldeck/(\w+\.(?:ini|txt))", config["data"]["pgbouncer.ini"]))
    assert named == delivered()
    script = (FOLDER / "pooldeck-fetch.sh").read_text()
    told = {one["name"] for one in pod["initContainers"][0]["env"]}
    assert told == set(re.findall(r"(?m)^# ([A-Z_]{4,}) ", script)) - {"OWN_USERS", "INTERVAL"}


def test_the_play_notes_the_etag_only_after_the_reload():
    (play,) = yaml.safe_load((FOLDER / "ansible.yml").read_text())
    *asking, placing = play["tasks"]
    modules = [next(key for key in task if key.startswith("ansible.builtin.")) for task in asking]
    assert modules == ["ansible.builtin.file", "ansible.builtin.slurp", "ansible.builtin.uri"]
    assert asking[2]["no_log"] is True
    assert [one["name"] for one in placing["block"]][-2:] == ["Reload PgBouncer", "Note the ETag last"]
    assert "handlers" not in play
    assert placing["block"][1]["ansible.builtin.copy"]["src"].rpartition("/")[2] in delivered()

"""docker/kubernetes/ agrees with the schemas of Kubernetes, with the code and with compose.yaml, without a cluster."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from panel import health_probe

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docker" / "kubernetes"
OLDEST, NEWEST = "1.29.0", kubernetes_validate.latest_version()
Document = dict[str, Any]
# component → the service of compose.yaml that it is
SERVICES = {"web": "web", "tasks": "worker", "runs": "generator", "beat": "beat"}


def documents(path: Path) -> list[Document]:
    return list(yaml.safe_load_all(path.read_text()))


KUSTOMIZATION = documents(FOLDER / "kustomization.yaml")[0]
ALL = [one for path in sorted(FOLDER.glob("*.yaml")) if path.name != "kustomization.yaml" for one in documents(path)]
WORKLOADS = {
    one["metadata"]["labels"]["app.kubernetes.io/component"]: one
    for one in ALL
    if one["kind"] in ("Deployment", "StatefulSet", "Job")
}


def named(one: Document) -> str:
    return f"{one['kind']} {one['metadata']['name']}"


def pod(component: str) -> Document:
    found: Document = WORKLOADS[component]["spec"]["template"]
    return found


def containers(component: str) -> Iterator[Document]:
    yield from pod(component)["spec"]["containers"]
    yield from pod(component)["spec"].get("initContainers", [])


def environment(component: str) -> dict[str, str]:
    (main,) = pod(component)["spec"]["containers"]
    return {one["name"]: one.get("value", "") for one in main.get("env", [])}


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
@pytest.mark.parametrize("document", ALL, ids=named)
def test_each_manifest_is_valid_in_old_and_new_releases(document: Document, version: str) -> None:
    kubernetes_validate.validate(document, version, strict=True)


def test_a_manifest_with_an_unknown_field_is_not_valid() -> None:
    wrong = {**ALL[0], "specification": {}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, NEWEST, strict=True)


def test_kustomize_gets_every_file_but_the_example_of_secrets() -> None:
    files = {path.name for path in FOLDER.glob("*.yaml")}
    assert set(KUSTOMIZATION["resources"]) == files - {"kustomization.yaml", "secret.example.yaml"}
    (image,) = KUSTOMIZATION["images"]
    assert {one["image"] for component in WORKLOADS for one in containers(component)} == {image["name"]}


def test_commands_are_those_of_compose() -> None:
    compose = yaml.safe_load((ROOT / "docker/compose.yaml").read_text())["services"]
    commands = {name: pod(name)["spec"]["containers"][0]["command"] for name in SERVICES}
    assert commands == {name: compose[service]["command"] for name, service in SERVICES.items()}
    for name in ("tasks", "runs"):
        assert environment(name)["POOLDECK_WORKER"] == compose[SERVICES[name]]["environment"]["POOLDECK_WORKER"]


def test_pods_may_drain_at_least_as_long_as_in_compose() -> None:
    compose = yaml.safe_load((ROOT / "docker/compose.yaml").read_text())["services"]
    units = {"s": 1, "m": 60}
    for name, service in SERVICES.items():
        grace = compose[service]["stop_grace_period"]
        assert pod(name)["spec"]["terminationGracePeriodSeconds"] >= int(grace[:-1]) * units[grace[-1]], name


def test_every_variable_is_one_of_the_panel() -> None:
    known = set(re.findall(r"(?m)^([A-Z_]+)=", (ROOT / "docker/.env.example").read_text()))
    secret = next(one for one in ALL if one["kind"] == "Secret")
    (generated,) = KUSTOMIZATION["configMapGenerator"]
    literals = {one.split("=", 1)[0] for one in generated["literals"]}
    used = {name for component in SERVICES for name in environment(component)}
    assert {*secret["stringData"], *literals, *used} <= known
    assert not set(secret["stringData"]) & literals


def test_each_container_takes_the_config_map_and_the_secret() -> None:
    (generated,) = KUSTOMIZATION["configMapGenerator"]
    secret = next(one for one in ALL if one["kind"] == "Secret")
    for component in WORKLOADS:
        for one in containers(component):
            assert one["envFrom"] == [
                {"configMapRef": {"name": generated["name"]}},
                {"secretRef": {"name": secret["metadata"]["name"]}},
            ]


@pytest.mark.parametrize("component", sorted(WORKLOADS))
def test_each_container_is_unprivileged_and_limited(component: str) -> None:
    (uid,) = re.findall(r"useradd --system --uid (\d+)", (ROOT / "docker/Dockerfile").read_text())
    security = pod(component)["spec"]["securityContext"]
    assert (security["runAsNonRoot"], security["runAsUser"]) == (True, int(uid))
    assert pod(component)["spec"]["automountServiceAccountToken"] is False
    for one in containers(component):
        assert one["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {mount["mountPath"] for mount in one["volumeMounts"]} == {"/var/lib/pooldeck", "/tmp"}
        assert "memory" in one["resources"]["requests"].keys() & one["resources"]["limits"].keys()


def test_what_restarts_a_worker_ignores_a_redis_that_is_down() -> None:
    for component, process in {"tasks": "worker", "runs": "worker", "beat": "beat"}.items():
        (main,) = pod(component)["spec"]["containers"]
        command = main["livenessProbe"]["exec"]["command"]
        assert command[:3] == ["python", "-m", "panel.health_probe"]
        asked = health_probe.options(command[3:])
        assert (asked.process, asked.ignore_redis) == (process, True)
        assert main["livenessProbe"]["failureThreshold"] * main["livenessProbe"]["periodSeconds"] >= 60


def test_web_is_asked_by_a_host_that_it_allows() -> None:
    (main,) = pod("web")["spec"]["containers"]
    (generated,) = KUSTOMIZATION["configMapGenerator"]
    settings = dict(one.split("=", 1) for one in generated["literals"])
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        (host,) = main[probe]["httpGet"]["httpHeaders"]
        assert host["value"] in settings["POOLDECK_ALLOWED_HOSTS"].split(",")
        assert main[probe]["httpGet"]["path"] == "/healthz/live"


def test_selectors_find_their_pods() -> None:
    labels = {component: pod(component)["metadata"]["labels"] for component in WORKLOADS}
    for one in ALL:
        if one["kind"] in ("Deployment", "StatefulSet", "PodDisruptionBudget"):
            assert one["spec"]["selector"]["matchLabels"] in labels.values(), named(one)
        if one["kind"] == "Service":
            assert one["spec"]["selector"] in labels.values(), named(one)


def test_there_is_one_beat_which_keeps_its_home() -> None:
    beat = WORKLOADS["beat"]
    assert (beat["kind"], beat["spec"]["replicas"]) == ("StatefulSet", 1)
    assert [one["metadata"]["name"] for one in beat["spec"]["volumeClaimTemplates"]] == ["home"]

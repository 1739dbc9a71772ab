"""docker/ agrees with the code: services, commands, files and variables, without a container engine at hand."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.utils.module_loading import import_string

from panel import health_probe
from panel.celery import app as celery_app
from panel.quickstart.container import CHECKS, ROLES
from panel.quickstart.panel_programs import Beat, Web, Worker

ROOT = Path(__file__).resolve().parent.parent
DOCKER = ROOT / "docker"
CONTAINER = "panel.quickstart.container"
READERS = {"read", "text", "number", "flag", "words", "secret"}
SOURCES = [path for folder in ("core", "panel", "pools", "benchmarks") for path in (ROOT / folder).rglob("*.py")]


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text())
    return loaded


def variables_of(path: Path) -> Iterator[str]:
    """The variables a module reads through core.lib.env."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
            continue
        called = node.func
        through_env = (
            isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "env"
        )
        inside_env = path.name == "env.py" and isinstance(called, ast.Name)
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if (through_env or inside_env) and name in READERS:
            yield str(node.args[0].value)


def read_by_the_code() -> set[str]:
    return {name for path in SOURCES for name in variables_of(path)}


def example_variables() -> list[str]:
    return re.findall(r"^([A-Z_]+)=", (DOCKER / ".env.example").read_text(), re.MULTILINE)


def test_nothing_but_panel_env_reads_the_environment() -> None:
    reading = re.compile(r"os\.getenv|os\.environ(?!\.setdefault\(\"(DJANGO_SETTINGS_MODULE|CELERY_SKIP_CHECKS)\")")
    readers = {str(path.relative_to(ROOT)) for path in SOURCES if reading.search(path.read_text())}
    # what the quickstart starts inherits its environment, and so does an operator's command without the panel's own;
    # a preflight looks for binaries on the PATH; the command-line client is no part of the panel
    assert readers <= {
        "panel/command_line/client.py",
        "core/installation/backups.py",  # pg_dump, as an operator runs it
        "core/lib/env.py",
        "panel/quickstart/services.py",
        "panel/quickstart/panel_programs.py",
        "panel/upgrade/layout.py",  # commands of a container, whose variables are its settings
        "pools/poolers/local_process.py",
        "pools/poolers/program_trust.py",
        "pools/provisioning/hook_command.py",
    }


def test_env_example_holds_every_variable_once_and_none_else() -> None:
    assert sorted(example_variables()) == sorted(read_by_the_code())


def test_the_reference_explains_every_variable_and_none_else() -> None:
    explained = re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "docs/reference/settings.md").read_text(), re.MULTILINE)
    assert sorted(explained) == sorted(read_by_the_code())


def test_compose_interpolates_only_variables_of_the_example() -> None:
    used = set(re.findall(r"(?<!\$)\$\{?([A-Z_]+)", (DOCKER / "compose.yaml").read_text()))
    assert used <= set(example_variables())


def test_compose_has_the_services_of_an_installation(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) == {
        "web",
        "worker",
        "generator",
        "generator-2",
        "beat",
        "setup",
        "redis",
        "postgres",
        "demo-postgres",
        "pgbouncer",
        "pgpool",
    }


def test_each_worker_takes_one_kind_of_work_and_each_generator_has_a_name(compose: dict[str, Any]) -> None:
    workers = [one for one in compose["services"].values() if "worker" in one.get("command", [])]
    takes = [one["environment"]["POOLDECK_WORKER"] for one in workers]
    assert sorted(takes) == ["runs", "runs", "tasks"]
    workers = [one for one in workers if one["environment"]["POOLDECK_WORKER"] == "runs"]
    names = [one["environment"].get("POOLDECK_GENERATOR", "local") for one in workers]
    assert len(names) == len(set(names)) == 2
    assert all(one["environment"].keys() >= {"DATABASE_URL", "REDIS_URL", "POOLDECK_HOME"} for one in workers)


def test_every_service_that_is_waited_for_exists(compose: dict[str, Any]) -> None:
    services = compose["services"]
    for name, service in services.items():
        assert set(service.get("depends_on", {})) <= set(services), name


def test_a_service_waited_for_in_health_tells_its_health(compose: dict[str, Any]) -> None:
    services = compose["services"]
    waited = {
        name
        for service in services.values()
        for name, how in service.get("depends_on", {}).items()
        if how["condition"] == "service_healthy"
    }
    assert all("test" in services[name]["healthcheck"] for name in waited)


def test_panel_services_run_the_programs_of_the_quickstart(compose: dict[str, Any], tmp_path: Path) -> None:
    commands = {name: compose["services"][name]["command"] for name in ("web", "worker", "beat")}
    assert commands["web"][:3] == ["python", *Web(tmp_path, 8000).argv[1:3]] == ["python", "-m", "panel.web_server"]
    assert commands["worker"][:4] == Worker(tmp_path).argv[2:6] == ["celery", "-A", "panel", "worker"]
    assert commands["beat"][:5] == Beat(tmp_path).argv[2:7]
    assert callable(import_string("panel.asgi.application"))
    assert celery_app.main == "pooldeck"


def test_the_quickstart_knows_every_role_it_is_asked_for(compose: dict[str, Any]) -> None:
    asked = [
        service["command"][-1]
        for service in compose["services"].values()
        if "panel.quickstart.container" in service.get("command", [])
    ]
    assert sorted(asked) == sorted(ROLES)


def test_each_lasting_service_has_a_health_check_of_its_own(compose: dict[str, Any]) -> None:
    """That of web is the image's."""
    checks = {name: service.get("healthcheck", {}).get("test") for name, service in compose["services"].items()}
    probe, container = ["CMD", "python", "-m", "panel.health_probe"], ["CMD", "python", "-m", CONTAINER]
    workers = {name: [*probe, "worker"] for name in ("worker", "generator", "generator-2")}
    poolers = {name: [*container, name, "check"] for name in CHECKS}
    assert {name: check for name, check in checks.items() if check and "python" in check} == {
        **workers,
        **poolers,
        "beat": [*probe, "beat"],
    }
    assert {name for name, check in checks.items() if check is None} == {"web", "setup"}
    for check in checks.values():
        if check and "panel.health_probe" in check:
            health_probe.options(check[4:])
    assert "panel.health_probe" in (DOCKER / "Dockerfile").read_text()


def test_only_the_web_is_published_and_only_on_this_machine(compose: dict[str, Any]) -> None:
    published = {name: service["ports"] for name, service in compose["services"].items() if "ports" in service}
    assert published == {"web": ["127.0.0.1:8000:8000"]}


def test_no_password_stands_in_a_command(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        assert not re.search(r"(?<!\$)\$\{?[A-Z]", " ".join(service.get("command", [])))


def test_the_image_copies_what_exists_and_installs_from_the_same_lists() -> None:
    text = (DOCKER / "Dockerfile").read_text()
    for words in re.findall(r"^COPY (?!--from)(.+)$", text, re.MULTILINE):
        for source in words.split()[:-1]:
            assert (ROOT / source).exists(), source
    for name in (
        "docker/packages.txt",
        "docker/packages-image.txt",
        "docker/tools.txt",
        "uv.lock",
        "static/package-lock.json",
    ):
        assert name in text


def test_the_image_has_the_packages_of_an_installation_but_those_whose_programs_it_copies() -> None:
    of_all, of_image = (
        {line.split("#")[0].strip() for line in (DOCKER / name).read_text().splitlines()} - {""}
        for name in ("packages.txt", "packages-image.txt")
    )
    copied, unneeded = {"postgresql", "pgbouncer", "pgpool2"}, {"redis-server", "python3-venv"}
    assert of_all - of_image == copied | unneeded
    text = (DOCKER / "Dockerfile").read_text()
    assert all(
        f"bin/{program}" in text for program in ("pgbench", "psql", "pg_dump", "pg_restore", "pgbouncer", "pgpool")
    )


def test_the_image_is_staged_unprivileged_and_checked() -> None:
    lines = (DOCKER / "Dockerfile").read_text().splitlines()
    assert sum(line.startswith("FROM ") for line in lines) == 4
    assert "USER pooldeck" in lines
    assert any(line.startswith("HEALTHCHECK ") for line in lines)

"""Acts that no transaction can undo: recorded before they begin, and once more with their outcome."""

import sys
from types import SimpleNamespace

import pytest

from core.audit import actors
from core.audit.actors import Actor, Origin, acting
from core.audit.acts import recorded, subject_of
from core.audit.models import ActorKind, Entry
from pools.models import Pool
from tests.pools.records import a_cluster, a_pool, an_entry

pytestmark = pytest.mark.django_db(transaction=True)


@recorded("pool.kill", "hold_s")
def kill(pool: Pool, confirm: str, hold_s: int = 0) -> str:
    if confirm != pool.name:
        raise ValueError("not its name, password=hunter2hunter2")
    return "killed"


def rows() -> list[tuple[str, str, dict[str, object]]]:
    found = Entry.objects.filter(action="pool.kill").order_by("number")
    return [(one.object_name, one.outcome, one.fields.get("after", {})) for one in found]


def test_an_act_is_recorded_before_it_and_with_its_outcome() -> None:
    pool = a_pool(name="shop")
    assert kill(pool, "shop", hold_s=3) == "killed"
    assert rows() == [("shop", "asked for", {"hold_s": 3}), ("shop", "done", {"hold_s": 3})]


def test_a_refused_act_is_recorded_with_its_reason_and_without_secrets() -> None:
    with pytest.raises(ValueError, match="not its name"):
        kill(a_pool(name="shop"), "other")
    assert [outcome for _name, outcome, _after in rows()] == ["asked for", "failed: not its name, password=changed"]


def test_subjects_name_their_cluster() -> None:
    cluster = a_cluster(name="prod")
    pool, entry = a_pool(cluster=cluster), an_entry(cluster=cluster)
    assert [(one.kind, one.name, one.cluster_id) for one in map(subject_of, (cluster, pool, entry))] == [
        ("cluster", "prod", cluster.pk),
        ("pool", pool.name, cluster.pk),
        ("entry", entry.name, cluster.pk),
    ]


def test_acts_are_those_of_the_command_line_unless_somebody_else_acts() -> None:
    kill(a_pool(name="shop"), "shop")
    with acting(Origin(Actor(ActorKind.SCHEDULE, "nightly"), "host: task")):
        kill(a_pool(name="shop"), "shop")
    kinds = Entry.objects.filter(action="pool.kill").order_by("number").values_list("actor_kind", flat=True)
    assert list(kinds) == ["command", "command", "schedule", "schedule"]


CALLED = {
    ("panel.quickstart.__main__", "/x/panel/quickstart/__main__.py", "--since", "12"): "script/up",
    ("celery.__main__", "/x/celery/__main__.py", "-A", "panel"): "celery",
    ("tools.cleanup", "/x/tools/cleanup.py", "old"): "python -m tools.cleanup old",
    ("", "/opt/pooldeck/bin/pooldeckctl", "admin-link", "anna"): "pooldeckctl admin-link",
    ("", "manage.py"): "manage.py",
    ("", "-c", "import this"): "python -c",
}


@pytest.mark.parametrize("words", CALLED)
def test_programs_are_named_as_people_call_them(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    module, *argv = words
    spec = SimpleNamespace(name=module) if module else None
    monkeypatch.setitem(sys.modules, "__main__", SimpleNamespace(__spec__=spec))  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "argv", argv)
    assert actors.program() == CALLED[words]

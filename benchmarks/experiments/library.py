"""The playbooks there are: those that come with the panel, and those that users added."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import cast
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from benchmarks.engines import ENGINES
from benchmarks.errors import BenchmarksError
from benchmarks.experiments import poolers
from benchmarks.experiments.playbook import ArmSpec, InvalidPlaybook, PlaybookSpec, parse
from benchmarks.library.settings_profiles import gate
from benchmarks.models import Experiment, Playbook
from core.accounts.access import Access
from core.accounts.models import FIRST_TEAM, Team
from pools.poolers import KINDS

FOLDER = Path(__file__).parent / "playbooks"
BUILT_IN = ("burst", "idle-tax", "tuning", "app-pool", "reconnect")
MOST_CHARACTERS = 100_000


class UnknownPlaybook(BenchmarksError):
    """There is no playbook of that name."""

    status = 404


@cache
def built_in() -> dict[str, PlaybookSpec]:
    """Return the playbooks that come with the panel, by name; only those whose engine and poolers are registered."""
    found = {name: parse((FOLDER / f"{name}.toml").read_text(encoding="utf-8")) for name in BUILT_IN}
    return {name: spec for name, spec in found.items() if _is_possible(spec)}


def _is_possible(spec: PlaybookSpec) -> bool:
    kinds = {arm.endpoint.kind for arm in spec.arms(quick=False) if arm.endpoint.is_pooled}
    return spec.engine in ENGINES and kinds <= set(KINDS)


def listed(access: Access | None = None) -> list[PlaybookSpec]:
    """Return the built-in ones in the order of the documentation, then users' by name.

    With `access`, only those that its holder may see; everybody may see the built-in ones.
    """
    return [*built_in().values(), *(parse(one.text) for one in _visible(access))]


def find(name: str, access: Access | None = None) -> PlaybookSpec:
    """Return a playbook, with `access` one that its holder may see; raises `UnknownPlaybook`."""
    return built_in()[name] if name in built_in() else parse(added(name, access).text)


def added(name: str, access: Access | None = None) -> Playbook:
    """Return a playbook that a user added, with `access` one that its holder may see; raises `UnknownPlaybook`."""
    own = _visible(access).filter(name=name).first()
    if own is None:
        raise UnknownPlaybook(_("there is no playbook %(name)s") % {"name": repr(name[:60])})
    return own


def team_ids(access: Access | None = None) -> dict[str, UUID]:
    """Return the teams of users' playbooks by name, with `access` of those that its holder may see."""
    return dict(_visible(access).values_list("name", "team_id"))


def teams(access: Access | None = None) -> dict[str, Team]:
    """Return the teams of users' playbooks by name, with `access` of those that its holder may see."""
    return {one.name: cast("Team", one.team) for one in _visible(access).select_related("team")}


def _visible(access: Access | None) -> QuerySet[Playbook]:
    return access.visible(Playbook.objects.all()) if access else Playbook.objects.all()


def add(text: str, author: User | None = None, *, is_admin: bool, team: Team | None = None) -> PlaybookSpec:
    """Keep a user's playbook under the name that it gives itself; raises `InvalidPlaybook` and `NotAllowed`.

    It belongs to `team`, or to the first one.
    """
    if len(text) > MOST_CHARACTERS:
        raise InvalidPlaybook([_("the text is too long: use at most %(most)s characters") % {"most": MOST_CHARACTERS}])
    spec = parse(text, is_new=True)
    message = _("line 1, name: %(name)s is taken: choose another name") % {"name": spec.name}
    if spec.name in built_in():
        raise InvalidPlaybook([message])
    refuse_settings([*spec.arms(quick=False), *spec.arms(quick=True)], is_admin=is_admin)
    try:
        with transaction.atomic():
            Playbook.objects.create(name=spec.name, text=text, author=author, team_id=team.pk if team else FIRST_TEAM)
    except IntegrityError:
        raise InvalidPlaybook([message]) from None
    return spec


def refuse_settings(arms: Sequence[ArmSpec], *, is_admin: bool) -> None:
    """Raise `NotAllowed` where an arm's server settings need the scope admin, and whoever asks does not hold it."""
    for arm in arms:
        gate.refuse(arm.profile, is_admin=is_admin, field="playbook")


def remove(name: str, access: Access | None = None) -> None:
    """Forget a user's playbook; experiments keep their own copy.

    Raises `UnknownPlaybook`, `BenchmarksError` for one that comes with the panel, and `PermissionDenied` where the
    holder of `access` may see it and not remove it.
    """
    if name in built_in():
        raise BenchmarksError(_("%(name)s comes with the panel and can't be removed") % {"name": name})
    own = added(name, access)
    if access:
        access.require("playbook.change", own)
    own.delete()


def spec_of(experiment: Experiment) -> PlaybookSpec:
    """Return the playbook as it was when the experiment was started."""
    return parse(experiment.definition)


def needs_in_words(spec: PlaybookSpec) -> list[str]:
    """Return the requirements of all arms, in sentences."""
    kinds = {arm.endpoint.kind for arm in spec.arms(quick=False)}
    sentences = [poolers.needed(kind) for kind in KINDS if kind in kinds]
    if any(arm.other_host for arm in spec.arms(quick=False)):
        sentences.append(_("a second generator on another host, for the arms called so"))
    if most := spec.needs.get("max_connections"):
        sentences.append(_("max_connections of %(most)s or more") % {"most": most})
    return sentences

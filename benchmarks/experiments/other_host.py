"""Arms whose load has to come from another host than that of the other arms: which generator runs them.

Where none is on another host, another generator on the same one runs them, and wherever they are shown it says so.
"""

import socket
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.errors import BenchmarksError
from benchmarks.experiments.playbook import ArmSpec, PlaybookSpec
from benchmarks.generators import registry, selection
from benchmarks.generators.registry import GeneratorStatus
from benchmarks.models import Experiment, Generator, Purpose, Run


@dataclass(frozen=True)
class Assignment:
    """The generators of all arms but those of another host, and why the latter can't be measured, by arm key."""

    generators: list[str]
    skipped: dict[str, str] = field(default_factory=dict)


def assign(spec: PlaybookSpec, arms: Sequence[ArmSpec], asked: Sequence[str]) -> Assignment:
    """Name the generators of an experiment; those asked for stay.

    Where an arm needs another host, any free one is not enough: the others' generator is named, so that it is known
    which host is another.
    """
    keys = [arm.key for arm in arms if arm.other_host]
    if not keys:
        return Assignment(list(asked))
    capable = _capable_generators(spec.engine)
    names = [name for name in asked if name != selection.ANY] or [one.name for one in capable[:1]]
    if _on_other_hosts(capable, names):
        return Assignment(names)
    return Assignment(list(asked), dict.fromkeys(keys, _why_none(capable)))


def generator_of(experiment: Experiment, arm: ArmSpec, engine: str) -> str:
    """Return the generator of an arm of another host: that of its first run, for figures that can be compared.

    Raises `BenchmarksError` where none is alive.
    """
    runs = experiment.runs.filter(purpose=Purpose.LOAD, arm=arm.key).exclude(generator="")
    if first := runs.order_by("number").first():
        return first.generator
    capable = _capable_generators(engine)
    others = _on_other_hosts(capable, experiment.generators)
    if not others:
        raise BenchmarksError(_why_none(capable))
    return others[0].name


def describe(spec: PlaybookSpec) -> str:
    """Return a sentence for the playbook's page on its arms of another host; empty where it has none."""
    if not any(arm.other_host for arm in spec.arms(quick=False)):
        return ""
    capable = _capable_generators(spec.engine)
    if others := _on_other_hosts(capable, [one.name for one in capable[:1]]):
        text = _(
            "The arms of “other host” are run by another generator than the rest, on another host: by %(other)s where "
            "the rest is run by %(generator)s."
        )
        if others[0].host == capable[0].host:
            text = _(
                "The arms of “other host” are run by another generator than the rest, but on the same host: by "
                "%(other)s where the rest is run by %(generator)s. Load and server share its processors then as in the "
                "other arms: start a worker on another host to measure what was published."
            )
        return text % {"other": _on_host(others[0]), "generator": _on_host(capable[0])}
    text = _(
        "The arms of “other host” are not measured here, and show the published figure alone: %(reason)s. Start a "
        "worker on another host to measure them."
    )
    return text % {"reason": _why_none(capable)}


def on_same_host(runs: Sequence[Run], specs: Sequence[ArmSpec]) -> frozenset[str]:
    """Return the keys of the arms of another host whose load came from the host of the others all the same."""
    elsewhere = {one.key for one in specs if one.other_host}
    if not elsewhere:
        return frozenset()
    registered = dict(Generator.objects.exclude(host="").values_list("name", "host"))
    hosts: dict[str, set[str]] = {}
    for run in runs:
        if host := run.evidence.get("generator", {}).get("host") or registered.get(run.generator):
            hosts.setdefault(run.arm, set()).add(host)
    of_others = {host for arm, found in hosts.items() if arm not in elsewhere for host in found}
    return frozenset(arm for arm in elsewhere if hosts.get(arm, set()) & of_others)


def labeled(spec: ArmSpec) -> ArmSpec:
    """Return an arm of another host that says in its label that its load came from the same one."""
    return replace(spec, label=_("%(arm)s (but on the same host)") % {"arm": spec.label})


def _capable_generators(engine: str) -> list[GeneratorStatus]:
    """Return the generators that can run the engine, those on this host first."""
    known = [
        one
        for one in registry.known_or_remembered()[0]
        if one.alive is not False and not one.lacks(engine) and not one.ssh_host
    ]
    here = socket.gethostname()
    return sorted((one for one in known if one.host), key=lambda one: (one.host != here, one.name))


def _on_other_hosts(capable: Sequence[GeneratorStatus], names: Sequence[str]) -> list[GeneratorStatus]:
    """Return those on other hosts than the generators of these names, else other ones on the same host.

    None where it is unknown where those are.
    """
    hosts = {one.host for one in capable if one.name in names}
    others = [one for one in capable if one.name not in names] if hosts else []
    return [one for one in others if one.host not in hosts] or others


def _why_none(capable: Sequence[GeneratorStatus]) -> str:
    if not capable:
        return _("no generator is alive")
    hosts = sorted({one.host for one in capable})
    text = ngettext(
        "no generator is alive on another host than %(hosts)s, nor a second one there",
        "no generator is alive on another host than these, nor another one there: %(hosts)s",
        len(hosts),
    )
    return text % {"hosts": ", ".join(hosts)}


def _on_host(one: GeneratorStatus) -> str:
    return _("%(generator)s on %(host)s") % {"generator": one.name, "host": one.host}

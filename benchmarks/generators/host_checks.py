"""Checks a generator's host by SSH again where the last check found a fault, before a run that names it is refused."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta

from django.utils import timezone

from benchmarks.errors import InvalidOptions
from benchmarks.generators import registry
from benchmarks.generators.registry import GeneratorStatus
from benchmarks.models.options import RunOptions
from pools.inventory import hosts
from pools.models import Host

AGAIN_AFTER = timedelta(seconds=5)


def refreshed(known: Iterable[GeneratorStatus], names: Sequence[str]) -> list[GeneratorStatus]:
    """Return the generators, those of these names as a new check found them where they had a fault."""
    return [_refreshed(one) if one.name in names and one.fault else one for one in known]


def check_scripts(options: RunOptions, names: Sequence[str]) -> None:
    """Refuse scripts of one's own where a named generator is a host without a sandbox; raise `InvalidOptions`."""
    if not options.get("scripts"):
        return
    named = [one for one in registry.known_or_remembered()[0] if one.ssh_host and one.name in names]
    now = [_refreshed(one) if one.script_fault else one for one in named]
    if faults := [one.script_fault for one in now if one.script_fault]:
        raise InvalidOptions({"scripts": faults})


def _refreshed(generator: GeneratorStatus) -> GeneratorStatus:
    host = generator.ssh_host
    if host is None or not _is_due(host):
        return generator
    hosts.check(host)
    return replace(generator, engines=registry.engines_of(host))


def _is_due(host: Host) -> bool:
    """Test whether a check could find something else; a host whose key nobody confirmed waits for a person."""
    return host.is_confirmed and (host.checked_at is None or timezone.now() - host.checked_at > AGAIN_AFTER)

"""The arms that could not be measured: each reason once, with the arms that it holds for and the way out."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext as _

from benchmarks.experiments import poolers, resources
from benchmarks.experiments.playbook import ArmSpec
from benchmarks.experiments.results import Result
from benchmarks.models import ResourceKind
from pools.models import Pool


@dataclass(frozen=True)
class UnmeasuredArms:
    """Why these arms were not measured, and where that can be changed; without a URL, nowhere in the panel."""

    reason: str
    arms: tuple[str, ...]
    label: str = ""
    url: str = ""


def of(result: Result) -> tuple[UnmeasuredArms, ...]:
    """Return the reasons in the order of their first arms."""
    by_reason: dict[str, list[ArmSpec]] = {}
    for one in result.arms:
        if one.skipped:
            by_reason.setdefault(one.skipped, []).append(one.spec)
    return tuple(
        UnmeasuredArms(reason, tuple(arm.label for arm in arms), *next(_remedies(result, arms), ("", "")))
        for reason, arms in by_reason.items()
    )


def _remedies(result: Result, arms: list[ArmSpec]) -> Iterator[tuple[str, str]]:
    """Yield the label and the address of each page where the reason can be removed, the nearest first."""
    experiment, one = result.experiment, arms[0]
    if all(arm.other_host for arm in arms):
        yield _("Add a generator"), reverse("generator-list")
    resource = experiment.resources.filter(kind=ResourceKind.POOL, key=resources.pool_key(one)).first()
    if resource and resource.record and (pool := Pool.objects.filter(pk=resource.record).first()):
        yield _("Open pooler %(pooler)s") % {"pooler": pool.pooler}, reverse("pooler-detail", args=[pool.pooler_id])
    if one.endpoint.is_pooled:
        pooler = poolers.find(experiment, one.endpoint.kind)
        if pooler is None:
            yield _("Register a pooler"), reverse("pooler-create")
    if experiment.cluster_id and one.auth != resources.MD5:
        yield _("See what the pools hold"), f"{reverse('pool-list')}?cluster={experiment.cluster_name}"

"""Giving a pool more connections than its cluster has: refused, or allowed by somebody who typed the cluster's name."""

from django.db import models

from pools.inventory import budget
from pools.inventory.budget import Budget
from pools.models import NodeRole, Pool
from pools.poolers import KINDS
from pools.poolers.base import Problems


def problems(wish: Pool, confirmed: str, standing: Pool | None = None) -> Problems:
    """(field, message) where the pool needs more than is free and `confirmed` is not the cluster's name.

    A pool may always shrink, or stay as it is, even where the budget shrank below what was given.
    """
    (target, figures), needed = _tightest(wish, standing), budget.needed_by(wish)
    if figures.free is None or needed <= figures.free or not _grows(wish, needed, standing):
        return
    if confirmed == wish.cluster.name:
        return
    if confirmed:
        yield "over_budget_confirm", f"{confirmed!r} is not the cluster's name: type {wish.cluster.name!r} to allow it"
    whose = "each standby of cluster" if target == NodeRole.STANDBY else "cluster"
    yield (
        "size",
        f"{_words(wish, needed)} over the budget of {whose} {wish.cluster}: {figures.available} available, "
        f"{figures.allocated} given to {'other ' if standing else ''}pools, {figures.free} free",
    )


def allowed_by(wish: Pool, author: models.Model | None, standing: Pool | None = None) -> str:
    """Who is to be shown as having allowed it: the author, or who allowed it before; empty while it fits."""
    (_, figures), needed = _tightest(wish, standing), budget.needed_by(wish)
    if figures.free is None or needed <= figures.free:
        return ""
    if standing is not None and not _grows(wish, needed, standing):
        return standing.over_budget_by
    return str(author or "the API")


def _tightest(wish: Pool, standing: Pool | None) -> tuple[str, Budget]:
    """Of the servers that it opens connections to, those with the least free; a Pgpool-II opens them to all."""
    targets = [wish.target]
    if KINDS[wish.pooler.kind].connections_of(wish.pooler) is not None and wish.cluster.nodes.exists():
        targets = [NodeRole.PRIMARY, NodeRole.STANDBY]
    found = [(target, budget.of_cluster(wish.cluster, target=target, without=standing)) for target in targets]
    return min(found, key=lambda one: one[1].free or 0)


def _grows(wish: Pool, needed: int, standing: Pool | None) -> bool:
    return standing is None or standing.target != wish.target or needed > budget.needed_by(standing)


def _words(wish: Pool, needed: int) -> str:
    if needed == wish.size:
        return f"size {wish.size} is"
    if reserve := budget.reserve_of(wish):
        return f"size {wish.size} with a reserve of {reserve} is"
    return f"pooler {wish.pooler}, which may open {needed} connections whatever its pools are, is"

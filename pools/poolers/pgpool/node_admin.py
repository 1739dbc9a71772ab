"""The backends of a Pgpool-II as it sees them, and what lets queries go to one of them or keeps them away."""

import logging
import time
from collections.abc import Callable

from django.db.models import Model
from django.utils.translation import gettext as _

from core.audit.acts import subject_of
from core.audit.recording import attempt
from core.audit.tracking import ANNOUNCED
from pools.errors import PoolerUnreachable
from pools.models import Pooler
from pools.poolers.nodes import Node
from pools.poolers.pgpool import backends, pcp, sql
from pools.poolers.pgpool.render import MAIN

logger = logging.getLogger(__name__)

ANSWERS_WITHIN_S, RETRY_EVERY_S = 10.0, 0.3
VERBS: dict[str, Callable[[Pooler, int], None]] = {"attach": pcp.attach_node, "detach": pcp.detach_node}
ANNOUNCED.update(f"pooler.{verb}_node" for verb in VERBS)


def of_pooler(pooler: Pooler) -> list[Node]:
    """List its backends as SHOW POOL_NODES does; raises `PoolerUnreachable`."""
    return [_node(row) for row in sql.show(pooler, "pool_nodes")]


def applied(pooler: Pooler) -> list[Node]:
    """List its backends as the last apply wrote them, for when it refuses logins: all may be detached."""
    last = pooler.revisions.applied().first()
    text = last.files.get(MAIN, "") if last else ""
    return [Node(one.number, one.host, one.port, "unknown", "", "", "", "", "", "") for one in backends.read(text)]


def change(pooler: Pooler, number: int, verb: str, author: Model | None = None) -> None:
    """`attach` or `detach` a backend; raises `Rejected` with Pgpool-II's words, `PoolerUnreachable`."""
    with attempt(f"pooler.{verb}_node", subject_of(pooler), number=number):
        VERBS[verb](pooler, number)
    logger.info("pooler %s: backend %s %sed by %s", pooler.pk, number, verb, author)


def list_after_change(pooler: Pooler) -> list[Node]:
    """List its backends once it answers again: its children restart after a change and refuse logins briefly.

    As the last apply wrote them where that lasts longer.
    """
    deadline = time.monotonic() + ANSWERS_WITHIN_S
    while True:
        try:
            return of_pooler(pooler)
        except PoolerUnreachable:
            if time.monotonic() > deadline:
                return applied(pooler)
        time.sleep(RETRY_EVERY_S)


def risk_of_detaching(nodes: list[Node], number: int) -> str:
    """Return the effect on clients of detaching this backend; empty where there is none."""
    others = [node for node in nodes if node.is_up and node.number != number]
    if not others:
        return _("It is the only backend that is up: every client will be refused until one is attached.")
    if any(node.number == number and node.role == "primary" for node in nodes):
        return _("It is the primary: Pgpool-II starts a failover, with the failover_command of its configuration.")
    return ""


def _node(row: dict[str, object]) -> Node:
    """Read a row of SHOW POOL_NODES."""
    text = {name: str(value if value is not None else "") for name, value in row.items()}
    return Node(
        number=int(text["node_id"]),
        host=text["hostname"],
        port=int(text["port"]),
        status=text["status"],
        server_status=text.get("pg_status", ""),
        role=text["role"],
        weight=f"{float(text['lb_weight']):.0%}",
        reads=text["select_cnt"],
        delay=text.get("replication_delay", ""),
        changed_at=text.get("last_status_change", ""),
    )

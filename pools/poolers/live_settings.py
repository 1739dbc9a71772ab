"""Reads the settings that a pooler's console shows now, the operator's own among them."""

import logging

from pools.errors import PoolerUnreachable
from pools.models import Pooler, PoolerState
from pools.poolers import KINDS

logger = logging.getLogger(__name__)


def read(pooler: Pooler) -> dict[str, str] | None:
    """Return the values by setting; None where the console does not answer, so that they are unknown."""
    if pooler.state != PoolerState.ONLINE:
        return None
    try:
        rows = KINDS[pooler.kind].show(pooler, "config")
    except PoolerUnreachable as error:
        logger.info("pooler %s: its settings could not be read: %s", pooler.pk, error)
        return None
    return {str(row.get("key") or row.get("item")): _text(row.get("value")) for row in rows}


def _text(value: object) -> str:
    return "" if value is None else str(value)

"""States that several records share: of a server, its role, and whether a spec is live."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class ClusterState(models.TextChoices):
    """The result of the last check of a server."""

    UNKNOWN = "unknown", _("not checked yet")
    ONLINE = "online", _("online")
    UNREACHABLE = "unreachable", _("unreachable")


class NodeRole(models.TextChoices):
    """The role of a cluster's server that clients connect to."""

    PRIMARY = "primary", _("primary")
    STANDBY = "standby", _("standby")


class PoolState(models.TextChoices):
    """The states of a pool's spec between its change and its proof."""

    PENDING = "pending", _("pending")
    APPLIED = "applied", _("applied")
    ROLLED_BACK = "rolled_back", _("rolled back")
    FAILED = "failed", _("failed")
    DRIFTED = "drifted", _("drifted")
    FAILING = "failing", _("failing")  # was applied; a later check or login failed


# The pooler has what the panel applied, whether or not it serves clients; `drifted`: in part.
LIVE_STATES = (PoolState.APPLIED, PoolState.DRIFTED, PoolState.FAILING)
REFUSED_STATES = (PoolState.ROLLED_BACK, PoolState.FAILED)  # an older spec is live, or none
AS_APPLIED = (PoolState.APPLIED, PoolState.FAILING)

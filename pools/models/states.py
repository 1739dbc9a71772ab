"""The states that several records share: of a server, its role, and whether what is asked for is live."""

from django.db import models


class ClusterState(models.TextChoices):
    """What the last check of a server said."""

    UNKNOWN = "unknown", "not checked yet"
    ONLINE = "online", "online"
    UNREACHABLE = "unreachable", "unreachable"


class NodeRole(models.TextChoices):
    """What a server of a cluster is for, as clients ask for it."""

    PRIMARY = "primary", "primary"
    STANDBY = "standby", "standby"


class PoolState(models.TextChoices):
    """Whether what is asked for is live."""

    PENDING = "pending", "pending"
    APPLIED = "applied", "applied"
    ROLLED_BACK = "rolled_back", "rolled back"
    FAILED = "failed", "failed"
    DRIFTED = "drifted", "drifted"

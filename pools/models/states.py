"""Whether what is asked for is live: the states that pools and a pooler's settings share."""

from django.db import models


class PoolState(models.TextChoices):
    """Whether what is asked for is live."""

    PENDING = "pending", "pending"
    APPLIED = "applied", "applied"
    ROLLED_BACK = "rolled_back", "rolled back"
    FAILED = "failed", "failed"
    DRIFTED = "drifted", "drifted"

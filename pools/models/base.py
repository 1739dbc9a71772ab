"""What every registered record shares: a UUID, a version against lost updates, times."""

import uuid
from typing import Any, Self

from django.db import models
from django.utils import timezone

from pools.errors import Stale


class Versioned(models.Model):
    """A record that people edit; `version` grows with each edit and a stale one is refused."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    version = models.PositiveIntegerField(default=1, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True

    def edit(self, expected_version: int | None, **values: Any) -> Self:
        """Write `values` if nobody wrote since `expected_version` (None: whatever stands); raises `Stale`."""
        rows = type(self)._default_manager.filter(pk=self.pk)
        if expected_version is not None:
            rows = rows.filter(version=expected_version)
        changed = rows.update(version=models.F("version") + 1, updated_at=timezone.now(), **values)
        if not changed:
            raise Stale(
                f"{self} was changed by somebody else since version {expected_version}: reload, then edit again"
            )
        self.refresh_from_db()
        return self

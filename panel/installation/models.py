"""The one row that ties a metadata database to its home."""

from django.db import models


class Installation(models.Model):
    """The home at the last start; `paused_at` is None while the panel is not paused."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    home = models.TextField()
    home_inode = models.PositiveBigIntegerField()
    last_start = models.UUIDField()
    paused_at = models.DateTimeField(null=True)
    paused_because = models.TextField(default="")

    def __str__(self) -> str:
        return self.home

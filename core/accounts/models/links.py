"""Links that are good once."""

from django.db import models


class AdminLink(models.Model):
    """The link by which somebody becomes the first administrator; a new one replaces those before."""

    digest = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"link that expires {self.expires_at:%Y-%m-%d %H:%M}"

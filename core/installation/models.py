"""What a metadata database knows of its installation: its home, its keys, and the messages that were carried out."""

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


class CarriedOut(models.Model):
    """A signed message that was carried out; after `until` no worker takes it any more."""

    message = models.UUIDField(primary_key=True)
    until = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return str(self.message)


class KnownKey(models.Model):
    """A key with which this database was used; stored secrets may need it until a rotation."""

    fingerprint = models.CharField(max_length=64, primary_key=True)
    first_used_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.fingerprint

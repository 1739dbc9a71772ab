"""Labels of runs."""

from django.db import models


class Tag(models.Model):
    """A label by which runs are found."""

    name = models.CharField(max_length=40, unique=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

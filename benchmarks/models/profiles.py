"""Settings profiles: named sets of server settings, and those that are in force for a run just now."""

import uuid

from django.conf import settings
from django.db import models

from benchmarks.models.runs import Run
from pools.models import Cluster


class SettingsProfile(models.Model):
    """Server settings by name, each with its value as pg_settings takes it (`"4GB"`, `"off"`)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100, unique=True)
    description = models.CharField(max_length=500, default="", blank=True)
    values = models.JSONField(default=dict)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class AppliedProfile(models.Model):
    """A profile that a run put in force; written before the server is touched, and closed once all is as it was.

    `before` holds what ALTER SYSTEM had set for each name (None: nothing), which is what has to come back. `error` says
    why it has not yet; once it has, what was left as it is because somebody else had changed it meanwhile.
    """

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="applied_profile", primary_key=True)
    cluster = models.ForeignKey(Cluster, null=True, on_delete=models.SET_NULL)
    values = models.JSONField(default=dict)
    before = models.JSONField(default=dict)
    applied_at = models.DateTimeField(auto_now_add=True)
    restored_at = models.DateTimeField(null=True, db_index=True)
    error = models.TextField(default="")

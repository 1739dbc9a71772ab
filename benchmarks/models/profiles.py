"""Settings profiles: named sets of server settings, and those in force for a run."""

import uuid

from django.conf import settings
from django.db import models

from benchmarks.models.runs import Run
from core.accounts.access import Access, used_by
from core.accounts.models import ApiToken, OwnedByTeam
from pools.models import Cluster


class SettingsProfileQuerySet(models.QuerySet["SettingsProfile"]):
    """The profiles there are."""

    def usable_in(self, run: Run) -> "SettingsProfileQuerySet":
        """Return those that a run may put in force: of its team, shared with that, or seen by whoever started it.

        A run names its profile, and the name may be that of another team's profile by the time that the run starts.
        """
        team = run.owning_team
        found = self.filter(used_by(self.model, team.pk if team else None))
        if run.author is None:
            return found
        of_team = ApiToken.objects.filter(user=run.author, team__isnull=False).first()  # a team's token is its author
        return found | Access.by(run.author, of_team).visible(self.all())


class SettingsProfile(OwnedByTeam):
    """Server settings by name, each value as pg_settings takes it (`"4GB"`, `"off"`)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100, unique=True)
    description = models.CharField(max_length=500, default="", blank=True)
    values = models.JSONField(default=dict)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = SettingsProfileQuerySet.as_manager()

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class AppliedProfile(models.Model):
    """A profile that a run put in force; saved before the server is touched, and closed once all is restored.

    `before` holds what ALTER SYSTEM had set for each name (None: nothing), which has to be restored. `error` says why
    it is not restored yet; after that, which settings were left since somebody else had changed them. One that the
    server `restarted` for stays between the runs of an experiment (`settings_profiles.shared`).
    """

    belongs_to = ("cluster",)

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="applied_profile", primary_key=True)
    cluster = models.ForeignKey(Cluster, null=True, on_delete=models.SET_NULL)
    values = models.JSONField(default=dict)
    before = models.JSONField(default=dict)
    restarted = models.BooleanField(default=False)
    applied_at = models.DateTimeField(auto_now_add=True)
    restored_at = models.DateTimeField(null=True, db_index=True)
    error = models.TextField(default="")

    def __str__(self) -> str:
        return f"settings applied for run {self.run_id}"

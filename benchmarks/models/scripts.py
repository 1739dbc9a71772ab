"""Scripts: pgbench scripts by name, with all their versions."""

import uuid

from django.conf import settings
from django.db import models
from django.utils.translation import gettext as _

from core.accounts.models import OwnedByTeam

NAME_CHARACTERS = 100


class Script(OwnedByTeam):
    """A named script; its texts are in its versions. Names are unique within a team."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=NAME_CHARACTERS)
    description = models.CharField(max_length=500, default="", blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["team", "name"], name="one_script_of_a_name_in_a_team")]

    def __str__(self) -> str:
        return self.name


class ScriptVersion(models.Model):
    """One version of a script; never changed once it is saved."""

    belongs_to = ("script",)

    script = models.ForeignKey(Script, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    text = models.TextField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["script", "-number"]
        constraints = [models.UniqueConstraint(fields=["script", "number"], name="one_text_of_a_version")]

    def __str__(self) -> str:
        return _("%(script)s version %(number)s") % {"script": self.script, "number": self.number}

"""Files that a person gives to a pooler: certificates, keys and host-based authentication."""

from django.conf import settings
from django.db import models

from panel.lib import crypto
from pools.models.poolers import Pooler


class PoolerFile(models.Model):
    """One uploaded file of a pooler; `setting` is the name of the setting that points to it."""

    pooler = models.ForeignKey(Pooler, on_delete=models.CASCADE, related_name="given_files")
    setting = models.CharField(max_length=63)
    sealed_content = models.TextField(default="")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["setting"]
        constraints = [models.UniqueConstraint(fields=["pooler", "setting"], name="one_file_of_a_setting")]

    def __str__(self) -> str:
        return f"{self.setting} of {self.pooler_id}"

    @property
    def secret_owner(self) -> str:
        """What the stored content is bound to."""
        return f"file:{self.pooler_id}:{self.setting}"

    @property
    def content(self) -> str:
        """The text of the file in clear."""
        return crypto.unseal(self.sealed_content, self.secret_owner)

    @content.setter
    def content(self, content: str) -> None:
        self.sealed_content = crypto.seal(content, self.secret_owner)

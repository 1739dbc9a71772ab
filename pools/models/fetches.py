"""Fetches: which token last fetched a pooler's files, and of which revision they were."""

from datetime import timedelta

from django.db import models
from django.utils import timezone

from core.accounts.models import ApiToken
from pools.models.poolers import Pooler
from pools.models.revisions import Revision

# A request that changes nothing is recorded again only after this time, so that polling stays cheap.
NOTED_AGAIN_AFTER = timedelta(minutes=1)


class FileFetchQuerySet(models.QuerySet["FileFetch"]):
    """Records fetches of files, one row for each token and pooler."""

    def note(self, pooler: Pooler, token: ApiToken, revision: Revision | None, *, transferred: bool) -> None:
        """Record that a token asked for the files of a revision (None: those before the first) and has them now."""
        now = timezone.now()
        known = self.filter(pooler=pooler, token=token).first()
        is_same = known is not None and known.revision_id == (revision and revision.pk)
        if known and is_same and not transferred and now - known.asked_at < NOTED_AGAIN_AFTER:
            return
        fetched = {"fetched_at": now} if transferred else {}
        fetch = {"revision": revision, "asked_at": now, **fetched}
        self.update_or_create(pooler=pooler, token=token, defaults=fetch)


class FileFetch(models.Model):
    """The latest fetch of a pooler's files by one token; it goes with either of them."""

    belongs_to = ("pooler",)

    pooler = models.ForeignKey(Pooler, on_delete=models.CASCADE, related_name="fetches")
    token = models.ForeignKey(ApiToken, on_delete=models.CASCADE, related_name="file_fetches")
    revision = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL)  # none: the files to start with
    fetched_at = models.DateTimeField(null=True)  # the last transfer
    asked_at = models.DateTimeField()  # the last request, which may have been answered by 304

    objects = FileFetchQuerySet.as_manager()

    class Meta:
        ordering = ["-asked_at"]
        constraints = [models.UniqueConstraint(fields=["pooler", "token"], name="one_fetch_of_a_token")]

    def __str__(self) -> str:
        return f"files of {self.pooler_id} for token {self.token_id}"

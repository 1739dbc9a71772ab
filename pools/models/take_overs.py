"""Take-overs: which files of a running pooler the panel began to write, and the bytes that stood there before."""

import json
import uuid
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.lib import crypto
from core.lib.sealed_field import SealedField
from pools.errors import IllegalTransition
from pools.models.poolers import Pooler


class TakeOverState(models.TextChoices):
    """The progress of a take-over; while it is taking or releasing, a worker writes files."""

    ASKED = "asked", _("asked for")
    TAKING = "taking", _("being taken over")
    TAKEN = "taken", _("taken over")
    REFUSED = "refused", _("undone")
    LEAVING = "leaving", _("to be let go")
    RELEASING = "releasing", _("being let go")
    RELEASED = "released", _("let go")


WAITING = (TakeOverState.ASKED, TakeOverState.TAKING, TakeOverState.LEAVING, TakeOverState.RELEASING)
HOLDING = (TakeOverState.TAKEN, TakeOverState.LEAVING, TakeOverState.RELEASING)


@dataclass(frozen=True)
class Original:
    """A file as it was before the take-over; without content there was none. `role` is what PgBouncer reads it as."""

    role: str
    content: bytes | None = field(default=None, repr=False)
    mode: int = 0o600
    uid: int = 0
    gid: int = 0


class TakeOverQuerySet(models.QuerySet["TakeOver"]):
    """Filters take-overs by their stage."""

    def waiting(self) -> "TakeOverQuerySet":
        """Return those that a worker has to begin or to end."""
        return self.filter(state__in=WAITING)

    def holding(self) -> "TakeOverQuerySet":
        """Return those whose files are the panel's now."""
        return self.filter(state__in=HOLDING)

    def refuse_releasing(self, pooler: Pooler) -> None:
        """Raise `IllegalTransition` while a worker gives the pooler's files back: a change would go with its pools.

        The caller holds the pooler's row.
        """
        if self.filter(pooler=pooler, state=TakeOverState.RELEASING).exists():
            text = gettext("pooler %(pooler)s is being let go, and its pools with it: nothing of it can be changed now")
            raise IllegalTransition(text % {"pooler": pooler})


class TakeOver(models.Model):
    """One take-over of a pooler, from the request until it was let go."""

    belongs_to = ("pooler",)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    pooler = models.ForeignKey(Pooler, on_delete=models.CASCADE, related_name="take_overs")
    state = models.CharField(max_length=12, choices=TakeOverState.choices, default=TakeOverState.ASKED)
    reason = models.TextField(default="")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    config_file = models.CharField(max_length=500)
    names = models.JSONField(null=True)  # entries that become pools; None: all that can
    appended = models.TextField(default="")  # text added at the end of the main file
    sealed_originals = SealedField(default="")
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)
    let_go_at = models.DateTimeField(null=True)

    objects = TakeOverQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["pooler"],
                condition=Q(state__in=[*WAITING, TakeOverState.TAKEN]),
                name="one_take_over_of_a_pooler",
            )
        ]

    def __str__(self) -> str:
        return f"take-over of {self.pooler_id}, {self.state}"

    @property
    def secret_owner(self) -> str:
        """The context that the stored files are sealed with."""
        return f"take-over:{self.pk}"

    @property
    def originals(self) -> dict[str, Original]:
        """The files before the take-over by their paths, each after those that lead to it. Raises `SealBroken`."""
        found = json.loads(crypto.unseal(self.sealed_originals, self.secret_owner) or "{}")
        return {path: _restored(fields) for path, fields in found.items()}

    @originals.setter
    def originals(self, files: Mapping[str, Original]) -> None:
        texts = {path: _storable(file) for path, file in files.items()}
        self.sealed_originals = crypto.seal(json.dumps(texts), self.secret_owner)

    def move(self, state: TakeOverState, reason: str = "") -> None:
        """Record the next state and why."""
        self.state, self.reason = state, reason
        written: dict[str, object] = {"state": state, "reason": reason}
        if state in (TakeOverState.TAKEN, TakeOverState.REFUSED):
            self.finished_at = written["finished_at"] = timezone.now()
        if state == TakeOverState.RELEASED:
            self.let_go_at = written["let_go_at"] = timezone.now()
        TakeOver.objects.filter(pk=self.pk).update(**written)


def _storable(file: Original) -> dict[str, object]:
    content = None if file.content is None else b64encode(file.content).decode()
    return {**asdict(file), "content": content}


def _restored(fields: dict[str, object]) -> Original:
    content = fields.pop("content")
    return Original(content=None if content is None else b64decode(str(content)), **fields)  # type: ignore[arg-type]

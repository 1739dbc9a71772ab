"""Revisions: rendered configurations of poolers, the specs that they were rendered from, and their outcome."""

import json
import sys
import uuid
import zlib
from base64 import b64decode, b64encode, b85decode
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NotRequired, Self, TypedDict, Unpack

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models, transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.lib import crypto
from core.lib.sealed_field import SealedField
from pools.errors import IllegalTransition
from pools.models.findings import Step
from pools.models.poolers import Pooler

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


class RevisionState(models.TextChoices):
    """The states of a revision; all except pending are final."""

    PENDING = "pending", _("pending")
    APPLIED = "applied", _("applied")
    ROLLED_BACK = "rolled_back", _("rolled back")
    FAILED = "failed", _("failed")


POOLS = "pools"
HEAD = '{"id": "'  # each pool's line of a spec begins with it
ZSTD_LEVEL = 1  # its fastest, which is ten times as fast here as zlib at its fastest, and smaller
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"  # each zstd frame begins with it (RFC 8878)
PACKED, PACKED_BEFORE = "packed:", "zlib:"  # older data has neither: JSON ("{"), then base 85

FINAL = {RevisionState.APPLIED, RevisionState.ROLLED_BACK, RevisionState.FAILED}


class PoolSpec(TypedDict):
    """The fields of a pool as a spec keeps them; records from earlier releases lack some columns."""

    id: str
    name: str
    cluster_name: str  # people know the cluster by it
    cluster_id: str
    database: str
    user: str
    mode: str
    size: int
    settings: dict[str, Any]
    through_id: NotRequired[str | None]
    target: NotRequired[str]
    allowed_users: NotRequired[str]
    over_budget_by: NotRequired[str]
    auth_method: NotRequired[str]
    made_for: NotRequired[str]


class Specs(Mapping[str, Any]):
    """The spec that a revision was rendered from, kept as text: only the pools that are used are parsed.

    `{"pools": [PoolSpec], "settings": {}, "user_settings": {}, "files": {setting: time}}`; empty for a revision
    from before the panel kept them. `lines` holds each pool's JSON by its id; equal lines mean equal pools.
    """

    def __init__(self, others: Mapping[str, Any] | None = None, lines: Mapping[str, str] | None = None) -> None:
        self._others, self.lines = others, dict(lines or {})
        self._read: dict[str, PoolSpec] = {}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "Specs":
        """Build them from a dictionary as JSON has it; an empty one gives empty specs."""
        if isinstance(plain, Specs):
            return plain
        specs = cls({name: value for name, value in plain.items() if name != POOLS} if plain else None)
        for fields in plain.get(POOLS, []):
            specs.add(fields)
        return specs

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Parse what `text` returns."""
        others, *pools = text.split("\n")
        start = len(HEAD)
        lines = {line[start : line.index('"', start)]: line for line in pools}
        return cls(json.loads(others) if others else None, lines)

    @property
    def text(self) -> str:
        """A line of JSON for everything except the pools, then one for each pool."""
        return "\n".join([json.dumps(self._others), *self.lines.values()]) if self else ""

    def add(self, fields: PoolSpec) -> None:
        """Add a pool by its `id`."""
        pk = fields["id"]
        self.lines[pk], self._read[pk] = json.dumps({"id": pk, **fields}), fields

    def pool(self, pk: str) -> PoolSpec:
        """Return the fields of one pool. Raises `KeyError`."""
        if pk not in self._read:
            self._read[pk] = json.loads(self.lines[pk])
        return self._read[pk]

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 (as deep and as varied as a spec)
        if self._others is None:
            raise KeyError(name)
        return [self.pool(pk) for pk in self.lines] if name == POOLS else self._others[name]

    def __iter__(self) -> Iterator[str]:
        return iter(() if self._others is None else (POOLS, *self._others))

    def __len__(self) -> int:
        return 0 if self._others is None else 1 + len(self._others)


class RevisionFields(TypedDict, total=False):
    """The spec and the files that a revision is rendered from, and its cause."""

    specs: Mapping[str, Any]  # the pools and settings: see `Specs`
    given: Mapping[str, str]  # uploaded files in clear, by setting
    summary: str  # the change in one line, without secrets
    cause: str


class RevisionQuerySet(models.QuerySet["Revision"]):
    """Creates and finds revisions."""

    def applied(self) -> "RevisionQuerySet":
        """Return those that went live, the latest first."""
        return self.filter(state=RevisionState.APPLIED).order_by("-number")

    def live_on(self, pooler: Pooler) -> "Revision | None":
        """Return the revision that a pooler runs on, with its content; None before the first."""
        return self.filter(pooler=pooler).applied().select_related("content").first()

    def cut_short(self) -> "RevisionQuerySet":
        """Return pending ones: while nobody holds the pooler's lock, these are what a dead worker left behind."""
        return self.filter(state=RevisionState.PENDING, offered_at=None)

    def offered_on(self, pooler: Pooler) -> "Revision | None":
        """Return the revision whose files are offered to be fetched and not seen in the pooler yet; None for none."""
        return self.filter(pooler=pooler, state=RevisionState.PENDING).exclude(offered_at=None).first()

    def wanted_on(self, pooler: Pooler) -> "Revision | None":
        """Return the revision whose files the pooler shall have: the one that is offered, else the live one."""
        return self.offered_on(pooler) or self.live_on(pooler)

    def draft(
        self, pooler: Pooler, files: dict[str, str], author: User | None = None, **fields: Unpack[RevisionFields]
    ) -> "Revision":
        """Create the next revision, its files sealed (they hold secrets)."""
        number = (self.filter(pooler=pooler).aggregate(last=Max("number"))["last"] or 0) + 1
        specs, given = fields.pop("specs", {}), fields.pop("given", {})
        revision = Revision(pooler=pooler, number=number, author=author, generator=settings.GENERATOR, **fields)
        with transaction.atomic():
            revision.save(force_insert=True)
            RevisionContent.of(revision, files, given, specs).save(force_insert=True)
        return revision


class Revision(models.Model):
    """One rendered configuration of a pooler."""

    belongs_to = ("pooler",)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    pooler = models.ForeignKey(Pooler, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=12, choices=RevisionState.choices, default=RevisionState.PENDING)
    reason = models.TextField(default="")
    steps: "models.JSONField[list[Step], list[Step]]" = models.JSONField(default=list)
    cause = models.CharField(max_length=100, default="")  # such as "rollback to 12"; empty: a change
    summary = models.CharField(max_length=300, default="")  # the change in one line, without secrets
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    # generator whose worker made it; the live revision's has the files
    generator = models.CharField(max_length=63, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    offered_at = models.DateTimeField(null=True)  # its files, to be fetched; see `pools.deployment.offers`
    fetched_at = models.DateTimeField(null=True)  # its files, for the first time
    finished_at = models.DateTimeField(null=True)

    objects = RevisionQuerySet.as_manager()

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["pooler", "number"], name="one_revision_of_a_number")]

    def __str__(self) -> str:
        return f"revision {self.number}"

    @property
    def secret_owner(self) -> str:
        """The context that the stored files are sealed with."""
        return f"revision:{self.pk}"

    @property
    def files(self) -> dict[str, str]:
        """File name → content, secrets in clear."""
        return self.content.files

    @property
    def given(self) -> dict[str, str]:
        """Setting → content of the files that were given to the pooler, in clear."""
        return self.content.given

    @property
    def specs(self) -> Specs:
        """The specs that it was rendered from, without secrets; see `pools.deployment.snapshots`."""
        return self.content.specs

    def note(self, step: str, detail: str = "", *, write: bool = True) -> None:
        """Add a step to the log that the page shows live; unwritten steps are saved with the next one or at the end."""
        self.steps = [*self.steps, {"at": timezone.now().isoformat(), "step": step, "detail": detail}]
        if write:
            self.save(update_fields=["steps"])

    def offer(self) -> None:
        """Let its files be fetched from now on."""
        self.offered_at = timezone.now()
        self.save(update_fields=["steps", "offered_at"])

    def mark_fetched(self) -> None:
        """Record that its files were fetched, the first time."""
        Revision.objects.filter(pk=self.pk, fetched_at=None).update(fetched_at=timezone.now())

    def finish(self, state: RevisionState, reason: str = "") -> None:
        """Save the final state. Raises `IllegalTransition` where it is already final."""
        if self.state in FINAL:
            text = gettext("revision %(number)s is already %(state)s")
            raise IllegalTransition(text % {"number": self.number, "state": self.get_state_display()})
        self.state, self.reason, self.finished_at = state, reason, timezone.now()
        self.save(update_fields=["steps", "state", "reason", "finished_at"])

    def replace_its_like(self) -> None:
        """Replace the previous revision where it failed for the same reason: some are retried for days."""
        before = self.pooler.revisions.filter(number=self.number - 1).first()
        if before and (before.state, before.reason, before.author_id) == (self.state, self.reason, self.author_id):
            before.delete()
            self.number = before.number
            self.save(update_fields=["number"])


class RevisionContent(models.Model):
    """The part of a revision that may be megabytes and never changes, apart from the row that each step rewrites."""

    revision = models.OneToOneField(Revision, primary_key=True, on_delete=models.CASCADE, related_name="content")
    sealed_files = SealedField(default="")
    sealed_given = SealedField(default="")  # the given files of the pooler at that time
    packed_specs = models.BinaryField(default=b"")

    def __str__(self) -> str:
        return f"content of {self.revision}"

    @classmethod
    def of(
        cls, revision: Revision, files: dict[str, str], given: Mapping[str, str], specs: Mapping[str, Any]
    ) -> "RevisionContent":
        """Return the content of a revision: rendered and given files, and the specs that it was rendered from."""
        return cls(
            revision=revision,
            sealed_files=crypto.seal(_packed(files), revision.secret_owner),
            sealed_given=crypto.seal(_packed(given), revision.secret_owner) if given else "",
            packed_specs=packed(Specs.of(specs).text),
        )

    @cached_property
    def files(self) -> dict[str, str]:
        """The rendered files in clear, name → text: see `Revision.files`."""
        return self._unsealed(self.sealed_files)

    @property
    def given(self) -> dict[str, str]:
        """The uploaded files in clear, setting → text: see `Revision.given`."""
        return self._unsealed(self.sealed_given)

    @cached_property
    def specs(self) -> Specs:
        """The specs that it was rendered from; its pools are parsed when used."""
        return Specs.from_text(unpacked(bytes(self.packed_specs)))

    def _unsealed(self, sealed: str) -> dict[str, str]:
        text = crypto.unseal(sealed, self.revision.secret_owner)
        if text.startswith((PACKED, PACKED_BEFORE)):
            text = unpacked(b64decode(text.partition(":")[2]))
        elif text and not text.startswith("{"):
            text = unpacked(b85decode(text))
        found: dict[str, str] = json.loads(text or "{}")
        return found


def _packed(texts: Mapping[str, str]) -> str:
    return PACKED + b64encode(packed(json.dumps(texts))).decode()


def packed(text: str) -> bytes:
    """Return the text in about a tenth of its bytes: files of ten thousand pools repeat themselves."""
    return zstd.compress(text.encode(), ZSTD_LEVEL)


def unpacked(data: bytes) -> str:
    """Return the text of compressed data, zstd's or, of older revisions, zlib's."""
    return (zstd.decompress(data) if data.startswith(ZSTD_MAGIC) else zlib.decompress(data)).decode()

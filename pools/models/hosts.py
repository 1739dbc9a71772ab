"""Hosts: machines that the panel reaches by SSH, each with a key of its own."""

from datetime import datetime
from typing import NotRequired, TypedDict, Unpack

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.accounts.models import OwnedByTeam
from core.lib import crypto
from core.lib.sealed_field import SealedField
from pools.models.base import VersionedModel
from pools.models.findings import FoundPooler


class HostState(models.TextChoices):
    """The result of the last check."""

    UNKNOWN = "unknown", _("not checked yet")
    UNCONFIRMED = "unconfirmed", _("its key is not confirmed")
    ONLINE = "online", _("online")
    UNREACHABLE = "unreachable", _("unreachable")


class HostCheck(TypedDict):
    """The findings of a check; fields that it lacks stay as they were."""

    state: HostState
    error: NotRequired[str]  # left out: none
    programs: NotRequired[dict[str, dict[str, str]]]  # path and version by name
    offered_host_key: NotRequired[str]


class Host(VersionedModel, OwnedByTeam):
    """A host with the account that the panel logs in to by SSH.

    Keys are kept as OpenSSH writes them (`ssh-ed25519 AAAA…`). `host_key` is the pinned one: nothing but the host that
    has it is logged in to. `offered_host_key` is another one that the last check saw, which a person may confirm.
    """

    name = models.CharField(max_length=63, unique=True)
    address = models.CharField(max_length=255, help_text=_("The name or address that the panel connects to"))
    port = models.PositiveIntegerField(default=22, help_text=_("The port of its sshd"))
    user = models.CharField(max_length=63, help_text=_("The account that owns the pooler's files, such as postgres"))
    jump = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="led_to",
        help_text=_("A host that the connection goes through (ProxyJump)"),
    )
    public_key = models.CharField(max_length=255, editable=False)
    sealed_private_key = SealedField(default="", editable=False)
    host_key = models.CharField(max_length=1000, default="", editable=False)
    offered_host_key = models.CharField(max_length=1000, default="", editable=False)
    state = models.CharField(max_length=12, choices=HostState.choices, default=HostState.UNKNOWN, editable=False)
    error = models.TextField(default="", editable=False)
    programs = models.JSONField(default=dict, editable=False)  # {"pgbouncer": {"path", "version"}}
    checked_at = models.DateTimeField(null=True, editable=False)
    found: "models.JSONField[list[FoundPooler], list[FoundPooler]]" = models.JSONField(
        default=list, editable=False, encoder=DjangoJSONEncoder
    )  # the poolers that run there, see pools.poolers.running
    discovered_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def secret_owner(self) -> str:
        """The context that the stored key is sealed with; it serves this host alone, whatever its address."""
        return f"host:{self.pk}"

    @property
    def private_key(self) -> str:
        """The key in clear, as OpenSSH writes it."""
        return crypto.unseal(self.sealed_private_key, self.secret_owner)

    @private_key.setter
    def private_key(self, key: str) -> None:
        self.sealed_private_key = crypto.seal(key, self.secret_owner)

    @property
    def is_confirmed(self) -> bool:
        """True if a person has confirmed the host's key."""
        return bool(self.host_key)

    @property
    def place(self) -> str:
        """The account, host and port of the login, as ssh takes them."""
        at_port = "" if self.port == 22 else f":{self.port}"
        return f"{self.user}@{self.address}{at_port}"

    def mark(self, **found: Unpack[HostCheck]) -> None:
        """Save the result of a check, unless the host was edited or removed in the meantime."""
        values = {"error": "", "checked_at": timezone.now(), **found}
        for name, value in values.items():
            setattr(self, name, value)
        type(self).objects.filter(pk=self.pk, version=self.version).update(**values)

    def record_found(self, poolers: list[FoundPooler], at: datetime) -> None:
        """Save which poolers run there."""
        self.found, self.discovered_at = poolers, at
        type(self).objects.filter(pk=self.pk, version=self.version).update(found=poolers, discovered_at=at)

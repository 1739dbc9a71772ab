"""Base classes of registered records: UUID, version against lost updates and times; and the login of a server."""

import uuid
from functools import cached_property
from typing import Self

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext as _

from core.lib import crypto
from core.lib.choice_labels import ChoiceLabels
from core.lib.sealed_field import SealedField
from pools.errors import Stale


class VersionedModel(ChoiceLabels):
    """A record that people edit; `version` grows with each edit, and a stale one is refused."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    version = models.PositiveIntegerField(default=1, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True

    @cached_property
    def key(self) -> str:
        """Its id as text, which files and revisions use, and which compares faster than a UUID."""
        return str(self.pk)

    def edit(self, expected_version: int | None, **values: object) -> Self:
        """Write `values` unless the record was edited since `expected_version` (None: not checked). Raises `Stale`."""
        rows = type(self)._default_manager.filter(pk=self.pk)
        if expected_version is not None:
            rows = rows.filter(version=expected_version)
        changed = rows.update(version=models.F("version") + 1, updated_at=timezone.now(), **values)
        if not changed:
            text = _("%(record)s was changed by another user since version %(version)s: reload, then edit again")
            raise Stale(text % {"record": self, "version": expected_version})
        self.refresh_from_db()
        return self


class Server(VersionedModel):
    """A running server with the login that the panel uses there."""

    name = models.CharField(max_length=63, unique=True)
    host = models.CharField(max_length=255)
    port = models.PositiveIntegerField()
    admin_user = models.CharField(max_length=63)
    sealed_admin_password = SealedField(default="", editable=False)

    class Meta:
        abstract = True
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def secret_owner(self) -> str:
        """The context that the stored password is sealed with: its login and address (a new address needs it again)."""
        return f"{self._meta.model_name}:{self.pk}:{self.admin_user}@{self.host}:{self.port}"

    @property
    def admin_password(self) -> str:
        """The password in clear; empty where none is stored."""
        return crypto.unseal(self.sealed_admin_password, self.secret_owner)

    @admin_password.setter
    def admin_password(self, password: str) -> None:
        self.sealed_admin_password = crypto.seal(password, self.secret_owner) if password else ""

"""External endpoints: poolers and servers that the panel loads but does not configure."""

import uuid

from django.db import models
from django.utils.translation import gettext as _

from core.accounts.models import OwnedByTeam
from core.lib import crypto
from core.lib.sealed_field import SealedField
from pools.clusters import ca_files
from pools.clusters.endpoints import Endpoint
from pools.models import Cluster, Pooler, SslMode


class ExternalEndpoint(OwnedByTeam):
    """An endpoint given as a URI: somebody's pooler (RDS Proxy, Odyssey, pgcat, a PgBouncer) or server.

    It counts in no budget. `cluster` is the registered cluster that it leads to, and `cluster_database` the database's
    name there; without a cluster, the server behind the endpoint is not queried. The console is a PgBouncer's, or a
    compatible one.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100, unique=True)
    pooled_by = models.CharField(max_length=60, default="", blank=True)
    host = models.CharField(max_length=255)
    port = models.PositiveIntegerField(default=5432)
    database = models.CharField(max_length=63)
    user = models.CharField(max_length=63)
    sslmode = models.CharField(max_length=12, choices=SslMode.choices, default=SslMode.PREFER)
    sslrootcert = models.TextField(default="", blank=True)
    parameters = models.JSONField(default=dict, blank=True)  # further words of libpq, see targets.external.TAKEN_ALONG
    cluster = models.ForeignKey(
        Cluster, null=True, blank=True, on_delete=models.SET_NULL, related_name="external_endpoints"
    )
    cluster_database = models.CharField(max_length=63, default="", blank=True)
    console_user = models.CharField(max_length=63, default="", blank=True)
    sealed_password = SealedField(default="", editable=False)
    sealed_console_password = SealedField(default="", editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def secret_owner(self, user: str) -> str:
        """Return the login and address to which a stored password is bound."""
        return f"external:{self.pk}:{user}@{self.host}:{self.port}"

    @property
    def password(self) -> str:
        """The load's password in clear; empty where none was given."""
        return crypto.unseal(self.sealed_password, self.secret_owner(self.user))

    @password.setter
    def password(self, password: str) -> None:
        self.sealed_password = crypto.seal(password, self.secret_owner(self.user)) if password else ""

    @property
    def console_password(self) -> str:
        """The console's password in clear; empty where none was given."""
        return crypto.unseal(self.sealed_console_password, self.secret_owner(f"console {self.console_user}"))

    @console_password.setter
    def console_password(self, password: str) -> None:
        owner = self.secret_owner(f"console {self.console_user}")
        self.sealed_console_password = crypto.seal(password, owner) if password else ""

    @property
    def label(self) -> str:
        """Its name, and its pooler in brackets."""
        return f"{self.name} ({self.pooled_by})" if self.pooled_by else self.name

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint that the load logs in to, with the password."""
        return Endpoint(
            host=self.host,
            port=self.port,
            database=self.database,
            user=self.user,
            password=self.password or None,
            sslmode=self.sslmode,
            sslrootcert=ca_files.path_of(self.sslrootcert) if self.sslrootcert else "",
            parameters=tuple(sorted(self.parameters.items())),
            unreachable=_("the panel can't reach endpoint %(name)s; an admin sees the reason") % {"name": self.name},
            is_panels_login=True,
        )

    @property
    def console(self) -> Pooler | None:
        """Its console as an unsaved pooler, fit for polling only; None where it has no console login."""
        if not self.console_user:
            return None
        values = {"name": self.name, "host": self.host, "port": self.port, "admin_user": self.console_user}
        pooler = Pooler(pk=self.pk, **values)
        pooler.admin_password = self.console_password
        return pooler

"""Clusters: PostgreSQL servers that the panel can log in to, their other nodes, and known role passwords."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from core.accounts.models import OwnedByTeam
from core.lib import crypto
from core.lib.sealed_field import SealedField
from pools.models.base import Server
from pools.models.check_result import CheckResult
from pools.models.findings import ListedDatabase, ListedRole


class SslMode(models.TextChoices):
    """libpq's sslmode, without `allow`."""

    DISABLE = "disable", "disable"
    PREFER = "prefer", "prefer"
    REQUIRE = "require", "require"
    VERIFY_CA = "verify-ca", "verify-ca"
    VERIFY_FULL = "verify-full", "verify-full"


class Cluster(Server, OwnedByTeam):
    """A PostgreSQL server with the login the panel uses."""

    host = models.CharField(max_length=255, help_text=_("A host name, an address, or the directory of a Unix socket"))
    port = models.PositiveIntegerField(default=5432)
    maintenance_database = models.CharField(max_length=63, default="postgres")
    sslmode = models.CharField(max_length=12, choices=SslMode.choices, default=SslMode.PREFER)
    sslrootcert = models.TextField(default="", blank=True, help_text=_("PEM text of the certificate authority"))
    memory_mb = models.PositiveIntegerField(null=True, blank=True)
    vcpus = models.PositiveIntegerField(null=True, blank=True)
    disk_gb = models.PositiveIntegerField(null=True, blank=True)
    set_aside_connections = models.PositiveIntegerField(default=0, help_text=_("Kept from pools for direct logins"))
    auth_role = models.CharField(max_length=63, default="", blank=True, help_text=_("Looks up inbound users' secrets"))
    maintenance_window = models.JSONField(
        default=dict, editable=False
    )  # {"day", "hour"} as a client of /v2/ set it; nothing here happens in it
    protected = models.BooleanField(default=True, help_text=_("Benchmarks that write need the name typed"))

    def password_of(self, role: str) -> str | None:
        """Return the password of a role, the admin's included, or None where the panel does not know it."""
        if role == self.admin_user:
            return self.admin_password or None
        known = self.role_passwords.filter(role=role).first()
        return known.password if known else None

    def keep_password(self, role: str, password: str) -> None:
        """Store the password of a role, replacing a known one."""
        known = RolePassword(cluster=self, role=role)
        known.password = password
        sealed = {"sealed_password": known.sealed_password}
        RolePassword.objects.update_or_create(cluster=self, role=role, defaults=sealed)


class ClusterStatus(CheckResult):
    """The findings of the last check: whether the cluster's own address answered, and the figures of its primary."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="status", primary_key=True)
    server_version = models.CharField(max_length=100, default="")
    server_version_num = models.PositiveIntegerField(null=True)
    max_connections = models.PositiveIntegerField(null=True)
    superuser_reserved_connections = models.PositiveIntegerField(null=True)
    reserved_connections = models.PositiveIntegerField(null=True, help_text=_("PostgreSQL 16 and later; else 0"))
    used_connections = models.PositiveIntegerField(null=True)
    databases: "models.JSONField[list[ListedDatabase], list[ListedDatabase]]" = models.JSONField(default=list)
    roles: "models.JSONField[list[ListedRole], list[ListedRole]]" = models.JSONField(default=list)
    replication = models.JSONField(
        default=list
    )  # pg_stat_replication of the primary; see pools.clusters.replication.RECEIVERS


class RolePassword(models.Model):
    """A role's password as given to the panel; a fixed-user pool needs it in clear (PgBouncer's config manual)."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="role_passwords")
    role = models.CharField(max_length=63)
    sealed_password = SealedField(default="")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "role"], name="one_password_per_role")]

    def __str__(self) -> str:
        return f"{self.role} on {self.cluster_id}"

    @property
    def secret_owner(self) -> str:
        """The context that the stored password is sealed with."""
        return f"role:{self.cluster_id}:{self.role}"

    @property
    def password(self) -> str:
        """The admin's password in plain text; raises `SealBroken`."""
        return crypto.unseal(self.sealed_password, self.secret_owner)

    @password.setter
    def password(self, password: str) -> None:
        self.sealed_password = crypto.seal(password, self.secret_owner)


class ClusterNode(CheckResult):
    """Another server of a cluster, reached with the cluster's own login; a check finds its role."""

    belongs_to = ("cluster",)

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="nodes")
    host = models.CharField(max_length=255)
    port = models.PositiveIntegerField(default=5432)

    class Meta:
        ordering = ["host", "port"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "host", "port"], name="one_node_at_an_address"),
        ]

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

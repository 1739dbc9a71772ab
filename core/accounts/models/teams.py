"""Teams, the roles of their members, and what belongs to a team."""

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

# The team that each installation starts with, and that what was there before teams belongs to. Its id is known, so that
# it can be the default in the database: a web process of the release before inserts rows without a team.
FIRST_TEAM = uuid.UUID("00000000-0000-4000-8000-000000000001")
FIRST_TEAM_NAME = "Default"


class Role(models.TextChoices):
    """The roles in a team, each of which includes those before it."""

    VIEWER = "viewer", _("viewer")
    DEVELOPER = "developer", _("developer")
    OPERATOR = "operator", _("operator")
    OWNER = "owner", _("owner")

    @property
    def rank(self) -> int:
        """Its place in the order, from 0."""
        return list(Role).index(self)

    def includes(self, other: "Role") -> bool:
        """Tell whether its holder may do what holders of the other role may."""
        return self.rank >= other.rank


class Team(models.Model):
    """People who share clusters, poolers and hosts."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=63, unique=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class MembershipSource(models.TextChoices):
    """Who gave a role."""

    HAND = "hand", _("a member of this panel")
    GROUPS = "groups", _("groups at sign-on")


class Membership(models.Model):
    """A person's role in a team."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=9, choices=Role.choices, default=Role.VIEWER)
    source = models.CharField(
        max_length=6,
        choices=MembershipSource.choices,
        default=MembershipSource.HAND,
        db_default=MembershipSource.HAND,
        help_text=_("A role that came from groups follows them at each sign-on; one given by hand stays"),
    )

    class Meta:
        ordering = ["team", "user"]
        constraints = [models.UniqueConstraint(fields=["team", "user"], name="one_role_in_a_team")]

    def __str__(self) -> str:
        return f"{self.user_id} as {self.role} of {self.team_id}"


class AdminByGroups(models.Model):
    """A person whom their groups made an administrator, and whom other groups unmake."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")

    def __str__(self) -> str:
        return f"{self.user_id} as administrator"


class OwnedByTeam(models.Model):
    """A record that belongs to one team, and may be shared with others.

    Members of a team that it is shared with use it by their roles there, up to operator. What takes an owner, such as
    its removal, stays with the team that it belongs to.
    """

    address_field: ClassVar[str] = "pk"  # the addresses of its pages name it by this

    team = models.ForeignKey(
        Team,
        on_delete=models.PROTECT,
        default=FIRST_TEAM,
        db_default=FIRST_TEAM,
        related_name="+",
        help_text=_("The team that it belongs to"),
    )
    shared_with = models.ManyToManyField(
        Team, blank=True, related_name="+", help_text=_("Other teams whose members see and use it")
    )

    class Meta:
        abstract = True

    @property
    def address_key(self) -> object:
        """What the addresses of its pages name it by."""
        return getattr(self, self.address_field)

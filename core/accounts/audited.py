"""What the audit trail follows of people and their tokens."""

from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import User

from core.accounts.models import AdminLink, ApiToken, Invitation, Membership, Team
from core.audit.tracking import track

PERSON = ("username", "first_name", "last_name", "email", "is_active", "is_staff", "is_superuser")
TOKEN_OF_TEAM = ("team_id", "role", "made_by_id")
TOKEN = ("user_id", *TOKEN_OF_TEAM, "name", "scopes", "limit_kind", "limited_to", "expires_at", "revoked_at")
INVITATION = ("team_id", "role", "email", "expires_at", "revoked_at", "used_at", "used_by_id")
INVITATION_ACTIONS = {"revoked_at": "invitation.revoke", "used_at": "invitation.use"}
MEMBER_ACTIONS = {"create": "team.add_member", "change": "team.change_role", "delete": "team.remove_member"}

track(User, "person", only=PERSON, secrets=["password"], name="username", actions={"password": "person.set_password"})
track(ApiToken, "token", only=TOKEN, actions={"revoked_at": "token.revoke"})
track(AdminLink, "admin_link", only=["expires_at", "used_at"], name="pk", actions={"used_at": "admin_link.use"})
track(
    SocialAccount,
    "person",
    only=["provider", "uid"],
    path="user",
    name="username",
    actions={"create": "person.link_sign_on", "change": "person.link_sign_on", "delete": "person.unlink_sign_on"},
    named_by=("provider", "uid"),
)
track(Team, "team", team=("pk",))
track(
    Membership,
    "team",
    only=["user_id", "role", "source"],
    path="team",
    team=("team_id",),
    actions=MEMBER_ACTIONS,
    named_by=("user_id",),
)
track(Invitation, "invitation", only=INVITATION, name="team__name", team=("team_id",), actions=INVITATION_ACTIONS)

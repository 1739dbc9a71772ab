"""The models of this app, one module for each noun."""

from core.accounts.browser_sessions import BrowserSession
from core.accounts.models.links import AdminLink, Invitation
from core.accounts.models.teams import (
    FIRST_TEAM,
    AdminByGroups,
    Membership,
    MembershipSource,
    OwnedByTeam,
    Role,
    Team,
)
from core.accounts.models.tokens import ApiToken, LimitKind, Scope, digest

__all__ = [
    "FIRST_TEAM",
    "AdminByGroups",
    "AdminLink",
    "ApiToken",
    "BrowserSession",
    "Invitation",
    "LimitKind",
    "Membership",
    "MembershipSource",
    "OwnedByTeam",
    "Role",
    "Scope",
    "Team",
    "digest",
]

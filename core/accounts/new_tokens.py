"""Tokens that are asked for, on a page or over the API: of a person or of a team, limited or not."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.utils.translation import gettext_lazy as _

from core.accounts.access import Access
from core.accounts.models import ApiToken, LimitKind, Role, Team
from core.accounts.permissions import usable

USELESS = _("the role makes no use of the scopes %(scopes)s: leave them out, or give another role")


@dataclass(frozen=True)
class NewToken:
    """A token to be made: of `team` with a role there, or of the person who makes it."""

    made_by: User
    name: str
    scopes: list[str]
    expires_at: datetime | None = None
    team: Team | None = None
    role: Role | None = None
    limit: tuple[LimitKind, UUID] | None = None

    @property
    def access_without_limit(self) -> Access:
        """What the token's holder sees, out of which a limit chooses."""
        if self.team is None or self.role is None:
            return Access(self.made_by)
        account = User(username=self.team.name, is_active=False)
        return Access(account, ApiToken(user=account, team=self.team, role=self.role, scopes=self.scopes))

    @property
    def useless_scopes(self) -> list[str]:
        """Those of its scopes that its holder's role makes no use of."""
        return sorted(set(self.scopes) - set(usable(self.access_without_limit)))

    def issue(self) -> str:
        """Create the token and return its text, which is not stored."""
        kind, key = self.limit or (LimitKind.FILES, None)
        rest = (self.name, self.scopes, self.expires_at, key, kind)
        if self.team is None or self.role is None:
            return ApiToken.objects.issue(self.made_by, *rest)
        return ApiToken.objects.issue_for_team(self.team, self.role, self.made_by, *rest)

"""Invitations by link: whoever opens one makes an account of their own and is a member of the team that it names.

As with the link for the first administrator, only its digest is stored. It ends with its use, its time, its revocation,
and as soon as the person who made it may not let anybody into the team any more.
"""

import logging
import secrets
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from core.accounts import mails
from core.accounts.access import Access
from core.accounts.first_admin import LinkRefused
from core.accounts.models import Invitation, Membership, Role, Team, digest
from core.accounts.people.errors import Refused

LIFETIME = timedelta(days=7)
LONGEST_DAYS = 30
logger = logging.getLogger(__name__)


def issue(
    team: Team, role: str, by: User, *, email: str = "", lifetime: timedelta = LIFETIME
) -> tuple[Invitation, str]:
    """Store a new invitation and return it with its link, which nothing can show again."""
    token = secrets.token_urlsafe(32)
    invitation = Invitation.objects.create(
        digest=digest(token),
        expires_at=timezone.now() + lifetime,
        team=team,
        role=Role(role),
        email=email,
        invited_by=by,
    )
    logger.info("%s was invited by %s", invitation, by)
    return invitation, f"{settings.PUBLIC_URL}{reverse('invitation-accept')}?token={token}"


def revoke(invitation: Invitation) -> None:
    """End an invitation. Raises `Refused` for one that was used, whose person is a member."""
    now = timezone.now()
    if Invitation.objects.filter(pk=invitation.pk, used_at=None, revoked_at=None).update(revoked_at=now):
        invitation.revoked_at = now
        return
    invitation.refresh_from_db()
    if invitation.used_at:
        raise Refused(_("this invitation was used already: remove the person from the team"))


def verify(token: str) -> Invitation:
    """Return the invitation of this token; raises `LinkRefused` with the reason where it can't be accepted now."""
    rows = Invitation.objects.select_related("team", "invited_by")
    found = rows.filter(digest=digest(token)).first()
    if found is None:
        raise LinkRefused(_("This link is not valid. Ask the person who sent it for a new one."))
    if reason := _ended(found):
        raise LinkRefused(reason)
    return found


def accept(user: User, token: str) -> Invitation:
    """Save the user as a member and use the link up. Raises `LinkRefused`; then nothing is saved."""
    with transaction.atomic():
        invitation = verify(token)
        # Of two who send the form at once, one updates the row.
        used = Invitation.objects.filter(pk=invitation.pk, used_at=None, revoked_at=None)
        user.email = invitation.email
        user.save()
        if not used.update(used_at=timezone.now(), used_by=user):
            raise LinkRefused(_("This link was used already. Ask for a new one."))
        role = {"role": invitation.role}
        Membership.objects.update_or_create(team=invitation.team, user=user, defaults=role)
    logger.info("%s accepted the invitation of %s into %s", user, invitation.invited_by, invitation.team)
    return invitation


def mail(invitation: Invitation, link: str) -> str:
    """Send the link to the address of the invitation; return why that failed, empty where it did not."""
    names = {"name": invitation.invited_by, "team": invitation.team, "link": link}
    text = _(
        "%(name)s invites you into the team %(team)s of a Pooldeck panel.\n\n"
        "Open this link to choose a user name and a password. It is good once, until %(until)s:\n%(link)s"
    )
    subject = _("Invitation into %(team)s on Pooldeck") % names
    text %= {**names, "until": f"{invitation.expires_at:%Y-%m-%d %H:%M} UTC"}
    return mails.send(invitation.email, subject, text, about=f"the invitation {invitation.pk}")


def _ended(found: Invitation) -> str:
    """Return why an invitation can't be accepted; empty where it can."""
    if found.used_at:
        return _("This link was used already. Ask for a new one.")
    if found.revoked_at:
        return _("This link was revoked. Ask an owner of the team for a new one.")
    if found.has_expired:
        return _("This link has expired. Ask an owner of the team for a new one.")
    inviter = found.invited_by
    if not inviter.is_active or not Access(inviter).may("team.members", found.team):
        return _("Whoever made this link can’t invite into the team any more. Ask an owner of it for a new one.")
    return ""

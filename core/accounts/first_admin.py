"""The first administrator of an installation: made by whoever opens a link that a command on its host printed.

Only the link's digest is stored. It ends after its lifetime, with its use, with the next link, and as soon as there is
an administrator, whoever made that one.
"""

import logging
import secrets
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from core.accounts.models import AdminLink, digest

LIFETIME = timedelta(hours=1)
logger = logging.getLogger(__name__)


class LinkRefused(Exception):
    """A link is not issued, or no longer good; the message says why, and what to do."""


def issue(lifetime: timedelta = LIFETIME) -> str:
    """Store a new link in place of those before, and return its token. Raises `LinkRefused` where an admin exists."""
    _refuse_second_admin()
    token = secrets.token_urlsafe(32)
    with transaction.atomic():
        AdminLink.objects.all().delete()
        AdminLink.objects.create(digest=digest(token), expires_at=timezone.now() + lifetime)
    return token


def verify(token: str) -> None:
    """Raise `LinkRefused` unless this token may make the first administrator now."""
    _refuse_second_admin()
    found = AdminLink.objects.filter(digest=digest(token)).first()
    if found is None:
        raise LinkRefused(
            _("This link is not valid, or a newer one replaced it. Make one with pooldeckctl admin-link on the host.")
        )
    if found.used_at:
        raise LinkRefused(_("This link was used already. Make a new one with pooldeckctl admin-link on the host."))
    if found.expires_at <= timezone.now():
        raise LinkRefused(_("This link has expired. Make a new one with pooldeckctl admin-link on the host."))


def make(user: User, token: str) -> None:
    """Save the user as the first administrator and use the link up. Raises `LinkRefused`; then nothing is saved."""
    with transaction.atomic():
        verify(token)
        # Of two who send the form at once, one updates the row.
        if not AdminLink.objects.filter(digest=digest(token), used_at=None).update(used_at=timezone.now()):
            raise LinkRefused(_("This link was used already. Make a new one with pooldeckctl admin-link on the host."))
        user.is_staff = user.is_superuser = True
        user.save()
    logger.warning("the first administrator %s was made by a link", user.get_username())


def _refuse_second_admin() -> None:
    found = User.objects.filter(is_superuser=True, is_active=True).order_by("date_joined").first()
    if found:
        raise LinkRefused(
            _(
                "There is an administrator already: %(name)s. pooldeckctl changepassword on the host sets a new "
                "password."
            )
            % {"name": found.get_username()}
        )

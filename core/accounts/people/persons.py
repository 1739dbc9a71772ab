"""Makes people administrators, deactivates them, lets them in again, and resets a lost second factor."""

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from core.accounts import mails
from core.accounts.models import ApiToken, BrowserSession
from core.accounts.people.errors import Refused
from core.accounts.second_factor import requirement
from core.accounts.second_factor.reset import reset


def people() -> QuerySet[User]:
    """Return all people, without the accounts of tokens of teams."""
    return User.objects.exclude(Exists(ApiToken.objects.filter(user=OuterRef("pk"), team__isnull=False)))


def listed() -> QuerySet[User]:
    """Return all people by name, with their teams, and `has_second_factor`."""
    factors = requirement.all_factors().filter(user=OuterRef("pk"))
    return (
        people().annotate(has_second_factor=Exists(factors)).prefetch_related("memberships__team").order_by("username")
    )


def make_admin(user: User, by: User) -> None:
    """Let a person do everything in this installation that the one who asks may do."""
    _set(user, is_staff=True, is_superuser=user.is_superuser or by.is_superuser)


def unmake_admin(user: User) -> None:
    """Leave a person what their roles in teams allow. Raises `Refused` for the last administrator."""
    with transaction.atomic():
        _refuse_last_admin(user)
        _set(user, is_staff=False, is_superuser=False)


def deactivate(user: User, by: User) -> int:
    """End a person's sessions now, and refuse their logins and tokens; return how many sessions that ended.

    Raises `Refused` for the last administrator, and for the person who asks.
    """
    if user.pk == by.pk:
        raise Refused(_("this is your own account: ask another administrator to deactivate it"))
    with transaction.atomic():
        _refuse_last_admin(user)
        _set(user, is_active=False)
        return BrowserSession.objects.filter(user=user).end()


def reactivate(user: User) -> None:
    """Let a person log in again; their tokens that were not revoked work again too."""
    _set(user, is_active=True)


def reset_second_factor(user: User, by: User, *, by_has_one: bool) -> str:
    """Remove the second factor of a person who lost it, end their sessions, and tell them by mail.

    Return why the mail was not sent; empty where it was. Raises `Refused` for who has no second factor of their own,
    which `by_has_one` says, for one's own, for one who may do more than the one who asks, and where there is none.
    """
    if user.pk == by.pk:
        raise Refused(_("this is your own account: change your second factor on your account page"))
    if not by_has_one:
        raise Refused(_("you have no second factor yourself: add one on your account page first"))
    if user.is_superuser and not by.is_superuser:
        raise Refused(_("%(name)s may do more than you: ask an administrator who may do the same") % {"name": user})
    if not Authenticator.objects.filter(user=user).exists():
        raise Refused(_("%(name)s has no second factor") % {"name": user})
    reset(user)
    return _mail_about_reset(user, by)


def _mail_about_reset(user: User, by: User) -> str:
    if not mails.is_sent():
        return _("this panel sends no mail")
    if not user.email:
        return _("no address of theirs is known")
    text = _(
        "%(by)s removed the second factor of your account %(name)s on a Pooldeck panel: the authenticator app, the "
        "passkeys and the recovery codes. All your sessions have ended.\n\n"
        "Log in with your password and add a second factor on your account page:\n%(link)s\n\n"
        "If you did not ask for this, change your password there, and tell another administrator."
    )
    names = {"by": by, "name": user, "link": f"{settings.PUBLIC_URL}{reverse('account-page')}"}
    subject = _("Your second factor on Pooldeck was removed")
    return mails.send(user.email, subject, text % names, about=f"the reset of the second factor of {user}")


def change(user: User, by: User, *, administrator: bool | None, active: bool | None) -> None:
    """Do what takes a person to these states, all of it or nothing; None leaves one as it is. Raises `Refused`."""
    with transaction.atomic():
        if active and not user.is_active:
            reactivate(user)
        if administrator and not user.is_staff:
            make_admin(user, by)
        if administrator is False and user.is_staff:
            unmake_admin(user)
        if active is False and user.is_active:
            deactivate(user, by)


def _set(user: User, **values: bool) -> None:
    for name, value in values.items():
        setattr(user, name, value)
    user.save(update_fields=list(values))


def _refuse_last_admin(user: User) -> None:
    """Raise `Refused` where no other administrator could log in, or none that may do all that this one may."""
    admins = User.objects.filter(is_staff=True, is_active=True).order_by("pk")
    others = [one for one in admins.select_for_update() if one.pk != user.pk]  # two who unmake each other wait here
    if not user.is_staff or not user.is_active:
        return
    if not any(one.is_superuser or not user.is_superuser for one in others):
        text = _("%(name)s is the last administrator: make another person an administrator first")
        raise Refused(text % {"name": user})

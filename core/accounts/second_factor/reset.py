"""Removal of every factor of somebody who lost them: the app, the passkeys and the recovery codes."""

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.db import transaction

from core.accounts.models import BrowserSession
from core.audit.acts import subject_of
from core.audit.recording import record
from core.audit.tracking import ANNOUNCED

ACTION = "person.reset_second_factor"
ANNOUNCED.add(ACTION)


def reset(user: User) -> int:
    """Remove the factors and end the sessions, whose browser may be the one that was lost; return how many it were."""
    with transaction.atomic():
        removed, _details = Authenticator.objects.filter(user=user).delete()
        record(ACTION, subject_of(user), before={"factors": removed})
        BrowserSession.objects.filter(user=user).end()
    return int(removed)

"""`pooldeckctl reset-second-factor NAME`: removes the factors of somebody who lost all of them."""

from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.core.management import BaseCommand, CommandError, CommandParser

from core.accounts import reasons
from core.accounts.models import BrowserSession
from core.audit import actors
from core.audit.acts import subject_of
from core.audit.recording import record
from core.audit.tracking import ANNOUNCED

ANNOUNCED.add("person.reset_second_factor")


class Command(BaseCommand):
    """Removes app, passkeys and recovery codes; exit code 1 where there is no such user."""

    help = "Remove the authenticator app, the passkeys and the recovery codes of a user, and end their sessions."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the user's name")
        parser.add_argument("--reason", default="", help="why, in one sentence for the audit trail")

    def handle(self, *args: Any, name: str, reason: str, **options: Any) -> None:
        """Remove the factors and end the sessions, whose browser may be the one that was lost."""
        if error := reasons.fault(reason):
            raise CommandError(f"{error}: add --reason")
        with actors.because(reason):
            self._reset(name)

    def _reset(self, name: str) -> None:
        user = User.objects.filter(username=name).first()
        if user is None:
            raise CommandError(f"there is no user {name}: give the name that they log in with")
        removed, _details = Authenticator.objects.filter(user=user).delete()
        record("person.reset_second_factor", subject_of(user), before={"factors": removed})
        BrowserSession.objects.filter(user=user).end()
        self.stdout.write(f"Removed {removed} factors of {name}, whose password alone logs in now.")

"""`pooldeckctl reset-second-factor NAME`: removes the factors of somebody who lost all of them."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management import BaseCommand, CommandError, CommandParser

from core.accounts import reasons
from core.accounts.second_factor.reset import reset
from core.audit import actors


class Command(BaseCommand):
    """Removes app, passkeys and recovery codes; exit code 1 where there is no such user."""

    help = "Remove the authenticator app, the passkeys and the recovery codes of a user, and end their sessions."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the user's name")
        parser.add_argument("--reason", default="", help="why, in one sentence for the audit trail")

    def handle(self, *args: Any, name: str, reason: str, **options: Any) -> None:
        """Remove the factors and end the sessions."""
        if error := reasons.fault(reason):
            raise CommandError(f"{error}: add --reason")
        with actors.because(reason):
            self._reset(name)

    def _reset(self, name: str) -> None:
        user = User.objects.filter(username=name).first()
        if user is None:
            raise CommandError(f"there is no user {name}: give the name that they log in with")
        removed = reset(user)
        self.stdout.write(f"Removed {removed} factors of {name}, whose password alone logs in now.")

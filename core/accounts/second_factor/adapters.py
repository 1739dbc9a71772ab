"""How django-allauth is fitted to this panel: its logins, its secrets and its words."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.accounts import confirmation
from core.accounts.second_factor import requirement
from core.accounts.sign_on import provenance
from core.lib import crypto

BACKEND = "django.contrib.auth.backends.ModelBackend"
SHOWN_BY_PAGES = ("account/messages/logged_in.txt",)
OWNER = "totp"  # the record's own id is not known when its secret is sealed


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth carries no types
    """Logins that end in the sessions of Django's own backend, with a note of when their user proved who they are."""

    def login(self, request: HttpRequest, user: User) -> None:
        """Begin the session."""
        user.backend = BACKEND
        super().login(request, user)

    def post_login(self, request: HttpRequest, user: User, **words: Any) -> HttpResponse:
        """Note the time: stored passwords are shown only shortly after a login."""
        if provenance.proved_recently(request, confirmation.HOLDS_FOR_S):
            confirmation.note(request)
        provenance.note_second_factor(request)
        answer: HttpResponse = super().post_login(request, user, **words)
        return answer

    def respond_user_inactive(self, request: HttpRequest, user: User) -> HttpResponse:
        """Lead back to the login, with the reason: only who proved to be the account's owner comes here."""
        messages.error(request, _("This account can’t sign in. Ask an administrator of this panel."))
        return redirect("login")

    def add_message(
        self, request: HttpRequest, level: int, message_template: str = "", *args: Any, **words: Any
    ) -> None:
        """Keep silent about what the page shows by itself."""
        if message_template not in SHOWN_BY_PAGES and not message_template.startswith("socialaccount/"):
            super().add_message(request, level, message_template, *args, **words)

    def is_reauthentication_required(self, *, app: str, **words: Any) -> bool:
        """Tell whether its user has to prove again who they are, as for stored passwords."""
        return not confirmation.is_recent(context.request)


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Secrets sealed with the panel's keys, and messages with a remedy."""

    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": gettext_lazy(
            "That code is not right, or was used before: enter the one that your app shows now, or a recovery code."
        ),
        "cannot_delete_authenticator": gettext_lazy(
            "This panel requires a second factor: add another one before you remove this one."
        ),
    }

    def is_mfa_enabled(self, user: User, types: list[str] | None = None) -> bool:
        """Tell whether the user has such factors, and the login that runs, if one does, has to ask for them."""
        if provenance.needs_no_second_factor(context.request):
            return False
        return bool(super().is_mfa_enabled(user, types))

    def encrypt(self, text: str) -> str:
        """Seal a secret for the database."""
        return crypto.seal(text, OWNER)

    def decrypt(self, encrypted_text: str) -> str:
        """Open a sealed secret; raises `SealBroken` where no key of the panel does."""
        return crypto.unseal(encrypted_text, OWNER)

    def generate_authenticator_name(self, user: User, type: Authenticator.Type) -> str:
        """Name a new passkey by its number."""
        count = Authenticator.objects.filter(user=user, type=type).count()
        return _("Passkey %(number)d") % {"number": count + 1}

    def can_delete_authenticator(self, authenticator: Authenticator) -> bool:
        """Refuse to remove the last factor where the panel requires one."""
        return not requirement.applies_to(authenticator.user) or requirement.factors(authenticator.user).count() > 1

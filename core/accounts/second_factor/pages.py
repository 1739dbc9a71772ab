"""Pages of the second factor: its question after the password, its set-up, and the login with a passkey alone."""

from typing import Any

from allauth.mfa.base.views import AuthenticateView
from allauth.mfa.recovery_codes.views import GenerateRecoveryCodesView, ViewRecoveryCodesView
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from allauth.mfa.webauthn.views import AddWebAuthnView, EditWebAuthnView, LoginWebAuthnView, RemoveWebAuthnView
from django.contrib.auth.decorators import login_not_required
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse_lazy
from django.utils.decorators import method_decorator

from core.accounts import lockout
from core.accounts.access import View, needs
from core.accounts.account_pages import account
from core.accounts.confirm_page import confirm_page, needs_confirmation

PASSKEYS = "(passkey)"  # the name under which failed logins by passkey count: no user can have it


class SecondFactorQuestion(AuthenticateView):  # type: ignore[misc]  # allauth carries no types
    """The page after a right password: a code or a passkey, under the limits of failed logins."""

    template_name = "accounts/second_factor.html"

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Check the answer, unless the name is locked."""
        if refusal := lockout.refusal(request, self.stage.login.user.get_username()):
            return refusal
        answer: HttpResponse = super().post(request, *args, **kwargs)
        return answer

    def form_invalid(self, form: Form) -> HttpResponse:
        """Count the failure."""
        lockout.count_failure(self.request, self.stage.login.user.get_username())
        answer: HttpResponse = super().form_invalid(form)
        return answer


@method_decorator(login_not_required, name="dispatch")
class PasskeyLogin(LoginWebAuthnView):  # type: ignore[misc]
    """The login with a passkey alone: GET answers what the browser signs, POST takes the signature."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Check the signature, unless too many were wrong from this address."""
        if refusal := lockout.refusal(request, PASSKEYS):
            return refusal
        answer: HttpResponse = super().post(request, *args, **kwargs)
        return answer

    def form_invalid(self, form: Form) -> HttpResponse:
        """Count the failure."""
        lockout.count_failure(self.request, PASSKEYS)
        answer: HttpResponse = super().form_invalid(form)
        return answer


def changes_account(view: View) -> View:
    """Let people in who proved shortly before who they are."""
    return needs("account.change")(needs_confirmation(view))


log_in = needs("session.start")
TO_ACCOUNT = reverse_lazy("account-page")
activate_totp = ActivateTOTPView.as_view(template_name="accounts/totp_activate.html")
deactivate_totp = DeactivateTOTPView.as_view(template_name="accounts/totp_deactivate.html")
view_codes = ViewRecoveryCodesView.as_view(template_name="accounts/recovery_codes.html")
generate_codes = GenerateRecoveryCodesView.as_view(template_name="accounts/recovery_codes_new.html")
add_passkey = AddWebAuthnView.as_view(template_name="accounts/passkey_add.html")
edit_passkey = EditWebAuthnView.as_view(template_name="accounts/passkey_edit.html", success_url=TO_ACCOUNT)
remove_passkey = RemoveWebAuthnView.as_view(template_name="accounts/passkey_remove.html", success_url=TO_ACCOUNT)

# allauth knows its pages by these names
urlpatterns: list[URLPattern] = [
    path("login/second-factor/", log_in(SecondFactorQuestion.as_view()), name="mfa_authenticate"),
    path("login/passkey/", log_in(PasskeyLogin.as_view()), name="mfa_login_webauthn"),
    path("account/", account, name="mfa_index"),
    path("account/confirm/", confirm_page, name="account-confirm"),
    path("account/app/add/", changes_account(activate_totp), name="mfa_activate_totp"),
    path("account/app/remove/", changes_account(deactivate_totp), name="mfa_deactivate_totp"),
    path("account/recovery-codes/", changes_account(view_codes), name="mfa_view_recovery_codes"),
    path("account/recovery-codes/new/", changes_account(generate_codes), name="mfa_generate_recovery_codes"),
    path("account/passkeys/add/", changes_account(add_passkey), name="mfa_add_webauthn"),
    path("account/passkeys/<int:pk>/edit/", changes_account(edit_passkey), name="mfa_edit_webauthn"),
    path("account/passkeys/<int:pk>/remove/", changes_account(remove_passkey), name="mfa_remove_webauthn"),
]

"""Sign-ins, failed ones and sign-outs, as Django reports them."""

from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest

from core.accounts.sign_on import provenance
from core.audit.recording import Subject, record


@receiver(user_logged_in)
def record_sign_in(user: User, request: HttpRequest | None = None, **_: object) -> None:
    """Record who signed in, and who vouched for them where it was neither a password nor a passkey."""
    sign_on = provenance.of(request) if request is not None else None
    record("person.sign_in", _subject(user), after={"by": sign_on.name} if sign_on else None)


@receiver(user_logged_out)
def record_sign_out(user: User | None, **_: object) -> None:
    """Record who signed out; a session that had ended already is nobody's."""
    if user is not None:
        record("person.sign_out", _subject(user))


@receiver(user_login_failed)
def record_failure(credentials: dict[str, str], **_: object) -> None:
    """Record a failed sign-in. A name that nobody has is not kept: people type passwords into that field."""
    user = User.objects.filter(username=credentials.get("username") or "").first()
    subject = _subject(user) if user else Subject("person", name="unknown name")
    record("person.sign_in", subject, outcome="failed")


def _subject(user: User) -> Subject:
    return Subject("person", str(user.pk), user.get_username())

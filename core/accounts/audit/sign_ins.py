"""Sign-ins, failed ones and sign-outs, as Django reports them."""

from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.dispatch import receiver

from core.audit.recording import Subject, record


@receiver(user_logged_in)
def record_sign_in(user: User, **_: object) -> None:
    """Record who signed in."""
    record("person.sign_in", _subject(user))


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

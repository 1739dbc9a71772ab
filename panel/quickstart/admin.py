"""The `admin` user and its API token, which quickstart.json holds."""

import secrets

from django.contrib.auth.models import User

from core.accounts.models import ApiToken, Scope, digest
from panel.quickstart.home import Home

USERNAME = "admin"


def ensure(home: Home, first_password: str = "") -> tuple[User, dict[str, str]]:
    """Return the user and its logins, `{username, password, token}`; `first_password` replaces a random one.

    The logins in quickstart.json are kept while they work. After a change of the password in the panel, `password` is
    empty. If the file is missing, a new password is set.
    """
    quickstart = home.read_quickstart()
    user = User.objects.filter(username=USERNAME).first() or User(username=USERNAME, is_staff=True, is_superuser=True)
    return user, {
        "username": USERNAME,
        "password": _password(user, quickstart, first_password),
        "token": _token(user, quickstart),
    }


def _password(user: User, quickstart: dict[str, str], first: str) -> str:
    known = quickstart.get("password")
    if user.pk and known is not None:
        return known if user.check_password(known) else ""
    password = first or secrets.token_urlsafe(12)
    user.set_password(password)
    user.save()
    return password


def _token(user: User, quickstart: dict[str, str]) -> str:
    token = quickstart.get("token", "")
    if ApiToken.objects.usable().filter(user=user, digest=digest(token)).exists():
        return token
    return ApiToken.objects.issue(user, "quickstart", list(Scope.values))

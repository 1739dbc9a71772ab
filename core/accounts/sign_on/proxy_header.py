"""Sign-on behind a proxy that knows who is there: it names them in a header of each request.

`panel.proxies` removes the header wherever it did not come from one of POOLDECK_TRUSTED_PROXIES. Django's
RemoteUserMiddleware is not used: it begins sessions without the second factor, and makes anybody's account.
"""

from allauth.account.utils import perform_login
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin

from core.accounts.sign_on import admission, provenance, refusals
from core.accounts.sign_on.admission import Description
from core.accounts.sign_on.configuration import NotConfigured, ProxyHeader

NAMED = "signed_on_as"  # in the session: the name that the header had when it began


class SessionOfHeader(MiddlewareMixin):
    """Ends a session that began by the header as soon as that is gone or names somebody else."""

    def process_request(self, request: HttpRequest) -> None:
        """Log out before anything looks at who it is."""
        if settings.SIGN_ON_HEADER is None:
            return
        began_as = request.session.get(NAMED)
        if began_as is not None and began_as != name_in(request, settings.SIGN_ON_HEADER):
            logout(request)


def configured() -> ProxyHeader:
    """Return the header of the settings; raises `NotConfigured`."""
    found: ProxyHeader | None = settings.SIGN_ON_HEADER
    if found is None:
        raise NotConfigured
    return found


def name_in(request: HttpRequest, header: ProxyHeader) -> str:
    """Return whom the proxy names; empty where it names nobody."""
    return request.headers.get(header.header, "").strip()


def is_named(request: HttpRequest) -> bool:
    """Tell whether a proxy names who it is."""
    return settings.SIGN_ON_HEADER is not None and name_in(request, settings.SIGN_ON_HEADER) != ""


def sign_in(request: HttpRequest, next_page: str) -> HttpResponse:
    """Begin the session of whom the header names, after their second factor where one is asked for; or refuse."""
    header = configured()
    name = name_in(request, header)
    account = SocialAccount.objects.filter(provider=header.account_kind, uid=name).select_related("user").first()
    described = Description(name, groups_in(request, header))

    def link(user: User) -> None:
        SocialAccount.objects.create(provider=header.account_kind, uid=name, user=user, extra_data=described.kept)

    try:
        user = admission.admit(request, header, described, account.user if account else None, link)
    except admission.Refused as refused:
        return refused.answer
    if not user.is_active:
        return refusals.inactive(request, user)
    provenance.keep(request, provenance.SignOn(header.name, None, header.second_factor))
    request.session[NAMED] = name
    answer: HttpResponse = perform_login(request, user, redirect_url=next_page)
    return answer


def groups_in(request: HttpRequest, header: ProxyHeader) -> list[str]:
    """Return the groups that the proxy names, separated by commas or, as some do, by bars."""
    if not header.groups_header:
        return []
    words = request.headers.get(header.groups_header, "").replace("|", ",").split(",")
    return sorted({word.strip() for word in words if word.strip()})

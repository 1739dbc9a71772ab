"""Addresses of the login, logout, one's own account, tokens, teams, people and the audit trail."""

from django.urls import URLPattern, URLResolver, path

from core.accounts import account_pages, first_admin_page, views
from core.accounts.access import needs
from core.accounts.audit import pages as audit_pages
from core.accounts.people.urls import urlpatterns as people_urls
from core.accounts.second_factor.pages import urlpatterns as second_factor_urls
from core.accounts.sign_on.pages import SignOut
from core.accounts.sign_on.pages import urlpatterns as sign_on_urls

login = needs("session.start")(views.Login.as_view())

urlpatterns: list[URLPattern | URLResolver] = [
    path("login/", login, name="login"),
    path("login/", login, name="account_login"),  # as allauth calls it
    path("first-admin/", first_admin_page.first_admin_form, name="first-admin"),
    path("logout/", needs("session.end")(SignOut.as_view()), name="logout"),
    path("account/", account_pages.account, name="account-page"),
    path("account/password/", account_pages.password_change, name="account-password"),
    path("account/sessions/<int:pk>/end/", account_pages.session_end, name="account-session-end"),
    path("account/sessions/end-others/", account_pages.sessions_end_others, name="account-sessions-end-others"),
    *second_factor_urls,
    *sign_on_urls,
    *people_urls,
    path("audit/", audit_pages.audit_list, name="audit-list"),
    path("audit/export/", audit_pages.audit_export, name="audit-export"),
    path("tokens/", views.token_list, name="token-list"),
    path("teams/<uuid:pk>/tokens/", views.team_token_list, name="team-token-list"),
    path("tokens/<uuid:pk>/revoke/", views.token_revoke, name="token-revoke"),
]

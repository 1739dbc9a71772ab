"""Addresses of the login, logout and tokens."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import URLPattern, URLResolver, path

from panel.accounts import views

login = LoginView.as_view(template_name="accounts/login.html", redirect_authenticated_user=True)

urlpatterns: list[URLPattern | URLResolver] = [
    path("login/", login, name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("tokens/", views.token_list, name="token-list"),
    path("tokens/<uuid:pk>/revoke/", views.token_revoke, name="token-revoke"),
]

"""Addresses of the login, logout and tokens."""

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, path

from core.accounts import first_admin_page, views

urlpatterns: list[URLPattern | URLResolver] = [
    path("login/", views.Login.as_view(), name="login"),
    path("first-admin/", first_admin_page.first_admin_form, name="first-admin"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("tokens/", views.token_list, name="token-list"),
    path("tokens/<uuid:pk>/revoke/", views.token_revoke, name="token-revoke"),
]

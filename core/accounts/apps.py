"""The accounts app."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Users' API tokens."""

    name = "core.accounts"
    label = "accounts"

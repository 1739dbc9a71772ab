"""The accounts app."""

from importlib import import_module

from django.apps import AppConfig
from django.apps import apps as installed
from django.apps.registry import Apps
from django.contrib.auth import get_user_model
from django.db.models.signals import post_migrate, post_save


class AccountsConfig(AppConfig):
    """Users, their teams and their API tokens."""

    name = "core.accounts"
    label = "accounts"

    def ready(self) -> None:
        """Register the operations, keep secrets of addresses out of logs, and keep up the first team.

        As long as it is the only one, all users are in it.
        """
        from core.accounts import first_team, operations
        from core.lib import secret_addresses

        secret_addresses.redact_logs()
        operations.register(*operations.OPERATIONS)
        post_migrate.connect(_keep_first_team, sender=self, dispatch_uid="first team")
        post_save.connect(first_team.join, sender=get_user_model(), dispatch_uid="first team")
        import_module("core.accounts.audited")
        import_module("core.accounts.audit.sign_ins")


def _keep_first_team(using: str, apps: Apps = installed, **_kwargs: object) -> None:
    """Make the first team again after a flush of the database, which has no `apps` of a migration."""
    try:
        teams = apps.get_model("accounts", "Team")
    except LookupError:  # migrated back to before there were teams
        return
    from core.accounts.models.teams import FIRST_TEAM, FIRST_TEAM_NAME

    if not teams.objects.using(using).exists():
        teams.objects.using(using).create(pk=FIRST_TEAM, name=FIRST_TEAM_NAME)

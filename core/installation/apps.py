"""The installation app."""

from importlib import import_module

from django.apps import AppConfig


class InstallationConfig(AppConfig):
    """The home that the metadata database belongs to."""

    name = "core.installation"
    label = "installation"

    def ready(self) -> None:
        """Enter what the audit trail follows; it needs the models first."""
        import_module("core.installation.audited")

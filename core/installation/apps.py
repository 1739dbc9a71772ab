"""The installation app."""

from django.apps import AppConfig


class InstallationConfig(AppConfig):
    """The home that the metadata database belongs to."""

    name = "core.installation"
    label = "installation"

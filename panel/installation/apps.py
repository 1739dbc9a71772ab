"""The installation app."""

from django.apps import AppConfig


class InstallationConfig(AppConfig):
    """The home that the metadata database belongs to."""

    name = "panel.installation"
    label = "installation"

"""The panel app: the project's own pages and checks."""

from django.apps import AppConfig


class PanelConfig(AppConfig):
    """Dashboard, health and system checks."""

    name = "panel"

    def ready(self) -> None:
        """Register the system checks, which need the settings."""
        from panel import checks  # noqa: F401 (importing it registers them)

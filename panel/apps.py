"""The panel app: the project's own pages and checks."""

from django.apps import AppConfig


class PanelConfig(AppConfig):
    """Dashboard, health and system checks."""

    name = "panel"

    def ready(self) -> None:
        """Register the checks; they need the settings, which are there only now."""
        from panel import checks  # noqa: F401

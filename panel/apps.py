"""The panel app: the project's own pages and checks."""

from django.apps import AppConfig

from core.lib import core_dumps


class PanelConfig(AppConfig):
    """Dashboard, health and system checks."""

    name = "panel"

    def ready(self) -> None:
        """Register the system checks, which need the settings; from now on this process has secrets in its memory."""
        from panel import checks  # noqa: F401 (importing it registers them)

        core_dumps.forbid()

"""The Django project of Pooldeck: settings, entry points, dashboard and the quickstart."""

from panel.celery import app as celery_app

__all__ = ["celery_app"]

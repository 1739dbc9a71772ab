"""The audit app."""

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """The trail of acts."""

    name = "core.audit"
    label = "audit"

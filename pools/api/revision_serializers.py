"""Revisions and the live configuration as JSON."""

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from pools.api.example_values import DATABASES_INI
from pools.deployment.live_files import LiveFiles, ShownFile
from pools.models import Revision, Step


class FileSerializer(serializers.Serializer[ShownFile]):
    """A configuration file with masked secrets."""

    name = serializers.CharField()
    content = serializers.CharField(allow_blank=True)

    example: dict[str, object] = {"name": "pgbouncer.ini", "content": DATABASES_INI}


class ConfigSerializer(serializers.Serializer[LiveFiles]):
    """The live configuration of a pooler: the revision's number and its files."""

    state = serializers.CharField(
        help_text=_(
            "in sync, drifted, not applied yet, unreadable, not looked at (by the worker that has the files), "
            "unverified (while the panel is paused), or watched (the panel writes none)"
        )
    )
    revision = serializers.IntegerField(allow_null=True)
    files = FileSerializer(many=True)
    error = serializers.CharField(default="", help_text=_("Why the files can't be read, or are not inspected"))
    generator = serializers.CharField(
        required=False, help_text=_("The generator that has the files, if not this one: they are shown as applied")
    )
    looked_at = serializers.DateTimeField(required=False, help_text=_("When its worker last inspected them"))

    example: dict[str, object] = {
        "state": "in sync",
        "revision": 12,
        "generator": "local",
        "looked_at": "2026-03-05T16:12:30Z",
    }


class StepSerializer(serializers.Serializer[Step]):
    """A step of an apply."""

    at = serializers.DateTimeField()
    step = serializers.CharField()
    detail = serializers.CharField(allow_blank=True)

    example: dict[str, object] = {"at": "2026-03-05T16:12:46Z", "step": "reloaded", "detail": ""}


class RevisionSerializer(serializers.ModelSerializer[Revision]):
    """A rendered configuration and its outcome."""

    steps = StepSerializer(many=True, read_only=True)
    author = serializers.CharField(source="author.username", default=None, read_only=True, allow_null=True)

    class Meta:
        model = Revision
        fields = ["id", "number", "state", "reason", "cause", "summary", "steps", "author", "created_at", "finished_at"]
        read_only_fields = fields

    example: dict[str, object] = {
        "id": "7e6f5d4c-3b2a-4190-8f7e-6d5c4b3a2f10",
        "number": 12,
        "state": "applied",
        "reason": "",
        "cause": "admin changed pool orders",
        "summary": "orders: size 8 → 10",
        "author": "admin",
        "finished_at": "2026-03-05T16:12:47Z",
    }

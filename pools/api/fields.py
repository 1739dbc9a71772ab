"""Fields that several serializers have."""

from typing import TYPE_CHECKING

from rest_framework import serializers

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


def password_field(help_text: "StrOrPromise" = "") -> serializers.CharField:
    """Return a write-only field for a password, which is not trimmed."""
    return serializers.CharField(
        write_only=True,
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        help_text=help_text,
        style={"input_type": "password"},
    )

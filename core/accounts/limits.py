"""Names of the records that tokens are limited to, told by the app that has these records."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from django.conf import settings
from django.utils.module_loading import import_string

from core.accounts.models import ApiToken


def names_of(tokens: Iterable[ApiToken]) -> Mapping[UUID, str]:
    """Return id → name of the records that are still there, in one query."""
    limits = {token.limited_to for token in tokens if token.limited_to is not None}
    found: Mapping[UUID, str] = import_string(settings.LIMITS_OF_TOKENS)(limits) if limits else {}
    return found

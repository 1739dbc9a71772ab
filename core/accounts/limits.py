"""The records that tokens are limited to; the settings name their models, which lie above the accounts."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from django.core.exceptions import ObjectDoesNotExist, ValidationError
from django.db.models import Model
from django.utils.translation import gettext as _

from core.accounts.access import Access, limited_model
from core.accounts.models import ApiToken, LimitKind

Limit = tuple[LimitKind, UUID]
CHOSEN = (LimitKind.CLUSTER, LimitKind.POOL)  # what people limit tokens to; `files` has its own way, see `FileActions`


def names_of(access: Access, tokens: Iterable[ApiToken]) -> Mapping[UUID, str]:
    """Return id → name of the records that are still there and that the caller sees, in a query for each kind."""
    limits: dict[str, set[UUID]] = {}
    for token in tokens:
        if token.limited_to is not None:
            limits.setdefault(token.limit_kind, set()).add(token.limited_to)
    found: dict[UUID, str] = {}
    for kind, keys in limits.items():
        model = limited_model(kind)
        rows = access.visible(model._default_manager.filter(pk__in=keys)) if model else ()
        found |= {row.pk: str(row) for row in rows}
    return found


def record_of(access: Access, kind: LimitKind, key: object) -> Model:
    """Return the record that a token is to be limited to; raises `ValidationError` where its holder sees none."""
    model = limited_model(kind)
    try:
        if model is None:
            raise ObjectDoesNotExist
        return access.visible(model._default_manager.all()).get(pk=key)
    except (ObjectDoesNotExist, ValidationError, ValueError):
        text = _("there is no %(kind)s %(key)s that the token could see")
        raise ValidationError(text % {"kind": kind.value, "key": key}) from None

"""Arguments of an act as JSON: records by their model and key, and back."""

import hashlib
import json
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, get_type_hints
from uuid import UUID

from django.apps import apps
from django.db.models import Model

Arguments = dict[str, Any]
UNCOMPARED = frozenset({"author"})  # who asks makes no other act of it


def encoded(arguments: Mapping[str, Any]) -> str:
    """Return the arguments as JSON, in their order. Raises `TypeError` for a value that can't be stored."""
    return json.dumps(_plain(arguments))


def digest_of(verb: str, arguments: Mapping[str, Any]) -> str:
    """Return the SHA-256 by which the same act is known when it is asked for again."""
    compared = {name: value for name, value in arguments.items() if name not in UNCOMPARED}
    text = json.dumps(_plain(compared), sort_keys=True)
    return hashlib.sha256(f"{verb} {text}".encode()).hexdigest()


def decoded(text: str, verb: Callable[..., object]) -> Arguments:
    """Return the arguments as the verb takes them. Raises `ObjectDoesNotExist` where a record is gone."""
    types = get_type_hints(verb)
    return {name: _typed(_restored(value), types.get(name)) for name, value in json.loads(text).items()}


def _plain(value: Any) -> Any:  # noqa: ANN401 (any argument of a verb)
    if isinstance(value, Model):
        return {"__model__": value._meta.label, "pk": str(value.pk)}
    if isinstance(value, UUID):
        return {"__uuid__": str(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise TypeError(f"an argument that waits for a second person can't be {type(value).__name__}")


def _restored(value: Any) -> Any:  # noqa: ANN401 (as `_plain`)
    if isinstance(value, list):
        return [_restored(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "__model__" in value:
        return apps.get_model(value["__model__"])._base_manager.get(pk=value["pk"])
    if "__uuid__" in value:
        return UUID(value["__uuid__"])
    return {name: _restored(one) for name, one in value.items()}


def _typed(value: Any, kind: Any) -> Any:  # noqa: ANN401 (as `_plain`)
    return kind(value) if isinstance(kind, type) and issubclass(kind, Enum) else value

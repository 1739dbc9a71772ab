"""Reads request bodies as the provider's clients send them: unknown keys are ignored, null is an absent key."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.request import Request

LARGEST = 2_147_483_647


class Body:
    """The keys of a body; every method raises `ValidationError`, with the value in the message."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = {name: value for name, value in given.items() if value is not None}

    @classmethod
    def of(cls, request: Request) -> "Body":
        """Read the JSON object of a request; an empty body is an empty object."""
        content = request.data
        if not isinstance(content, Mapping):
            raise ParseError(_("the body is not a JSON object: send an object of names and values"))
        return cls(content)

    def text(self, name: str, *, required: bool = False) -> str:
        """Return a text; empty where the key is absent."""
        value = _value(self._given, name, required=required, missing="")
        if not isinstance(value, str):
            raise _no(name, value, _("%(value)s is not a text: correct it"))
        if required and not value:
            raise _missing(name)
        return value

    def number(self, name: str, *, required: bool = False) -> int | None:
        """Return a whole number; None where the key is absent."""
        value = _value(self._given, name, required=required, missing=None)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or abs(value) > LARGEST:
            raise _no(name, value, _("%(value)s is not a whole number: correct it"))
        return value

    def texts(self, name: str) -> list[str]:
        """Return a list of texts; empty where the key is absent."""
        value = _value(self._given, name, required=False, missing=[])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise _no(name, value, _("%(value)s is not a list of texts: correct it"))
        return value

    def object(self, name: str) -> dict[str, object]:
        """Return an object; empty where the key is absent."""
        value = _value(self._given, name, required=False, missing={})
        if not isinstance(value, dict):
            raise _no(name, value, _("%(value)s is not an object: correct it"))
        return value

    def has(self, name: str) -> bool:
        """Tell whether the key is there, with a value other than null."""
        return name in self._given

    def truthy(self, *names: str) -> list[str]:
        """Return those keys that ask for something: neither absent nor empty, 0 or false."""
        return [name for name in names if self._given.get(name)]


def _value(given: Mapping[str, object], name: str, *, required: bool, missing: object) -> object:
    if required and name not in given:
        raise _missing(name)
    return given.get(name, missing)


def _missing(name: str) -> ValidationError:
    return ValidationError({name: [_("this is required: send it")]})


def _no(name: str, value: object, text: str) -> ValidationError:
    return ValidationError({name: [text % {"value": repr(value)[:100]}]})

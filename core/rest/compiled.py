"""Serializers whose answers are made by a plan of their class, as quickly as plain attributes can be read.

DRF copies the fields of a serializer for each request and for each nested record, and for each value of each row it
walks the field's source, asks whether what it found is a function, and dispatches twice. What a field does depends on
its class alone, but for those that ask for the caller. It is therefore looked at once: a plan has a function for each
field, and what it does not know is read as DRF does.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from operator import attrgetter, itemgetter
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from django.core.exceptions import FieldDoesNotExist, ObjectDoesNotExist
from django.db.models import ForeignKey, Prefetch, QuerySet
from django.db.models.manager import BaseManager
from rest_framework import serializers
from rest_framework.fields import Field, SkipField, _UnvalidatedField, empty, get_attribute
from rest_framework.relations import ManyRelatedField, PKOnlyObject, RelatedField

DrfField = Any  # a field of any class, of which this module asks what some of the classes have
Represent = Callable[[Any], Any]
Read = Callable[["CompiledSerializer", Any], object]  # from the serializer and a row to the value of one field

# What fields depend on nothing but the value and their declaration; DRF's own method tells which they are.
OF_THE_VALUE = {
    one.to_representation
    for one in (
        serializers.BooleanField,
        serializers.UUIDField,
        serializers.DateTimeField,
        serializers.ChoiceField,
        serializers.JSONField,
        serializers.PrimaryKeyRelatedField,
        serializers.SlugRelatedField,
    )
}
BUILT_IN: dict[object, Represent] = {
    serializers.CharField.to_representation: str,
    serializers.IntegerField.to_representation: int,
    serializers.FloatField.to_representation: float,
}
UNCHANGED = (serializers.ReadOnlyField.to_representation, _UnvalidatedField.to_representation)
FUNCTIONS = {FunctionType, MethodType, BuiltinFunctionType, partial}  # DRF calls those that it finds in place of values
LISTED = "listed_"
NOT_THERE = (AttributeError, KeyError, ValueError, ObjectDoesNotExist)


def listed(relation: str, rows: "QuerySet[Any] | None" = None) -> "Prefetch[Any, Any, Any]":
    """Return what prefetches a relation into a list of each row, for answers that change nothing.

    Django's own prefetch makes a query set for each row, which costs more than all other values of it together.
    """
    return Prefetch(relation, rows, to_attr=LISTED + relation)


def listed_of(row: Any, relation: str) -> Sequence[Any]:  # noqa: ANN401 (a record of any model)
    """Return the related records of a row, from the list where one was fetched."""
    fetched = row.__dict__.get(LISTED + relation)
    found: Sequence[Any] = getattr(row, relation).all() if fetched is None else fetched
    return found


class CompiledSerializer(serializers.Serializer[Any]):
    """A serializer that reads rows by the plan of its class; to bodies of requests it is as any other.

    Its fields must be the same in each instance. Where another compiled one has it as a field, all requests share it:
    there it must not ask for its `context`, its `parent` or its `instance`.
    """

    def to_representation(self, instance: Any) -> dict[str, Any]:  # noqa: ANN401 (whatever has the fields)
        """Return the values of a row by the names of the fields, as DRF does."""
        found = {}
        for name, read in _plan(type(self), isinstance(instance, Mapping)):
            try:
                found[name] = read(self, instance)
            except SkipField:
                continue
        return found


@cache
def _plan(of: type[CompiledSerializer], of_mappings: bool) -> tuple[tuple[str, Read], ...]:
    """Return what reads each readable field from an object, or from a mapping."""
    getter: Callable[[str], Represent] = itemgetter if of_mappings else attrgetter
    return tuple((name, _read(of, one, getter)) for name, one in of().fields.items() if not one.write_only)


def _read(of: type[CompiledSerializer], field: DrfField, getter: Callable[[str], Represent]) -> Read:
    if isinstance(field, serializers.SerializerMethodField):
        method: Read = getattr(of, field.method_name)
        return method
    if own := getattr(field, "read_of", None):  # of the row and the serializer, which knows the caller
        return lambda serializer, row: own(row, serializer)
    by_drf, represent = _by_drf(field.field_name), _represented(field)
    if key := _key_column(of, field):
        return _simply(getter(key), _same, by_drf, by_drf)
    if represent is None or not _is_found_as_usual(field):
        return by_drf
    if field.source == "*":
        return lambda _serializer, row: represent(row)
    if len(field.source_attrs) > 1:
        return _simply(partial(get_attribute, attrs=field.source_attrs), represent, by_drf, by_drf)
    (name,) = field.source_attrs
    if isinstance(field, ManyRelatedField):
        is_record = getter is attrgetter
        return _simply(partial(listed_of, relation=name), represent, by_drf, by_drf) if is_record else by_drf
    return _simply(getter(name), represent, by_drf, _missing(field) if getter is itemgetter else by_drf)


def _missing(field: DrfField) -> Read:
    """Return what stands for a key that a mapping does not have."""
    if field.default is not empty or not (field.allow_null or not field.required):
        return _by_drf(field.field_name)
    return _null if field.allow_null else _skip


def _null(_serializer: "CompiledSerializer", _row: object) -> None:
    return None


def _skip(_serializer: "CompiledSerializer", _row: object) -> None:
    raise SkipField


def _simply(get: Represent, represent: Represent, by_drf: Read, missing: Read) -> Read:
    """Return what reads a value by its name, and leaves to DRF what is a function."""

    def read(serializer: CompiledSerializer, row: Any) -> object:  # noqa: ANN401 (whatever has the fields)
        try:
            value = get(row)
        except NOT_THERE:
            return missing(serializer, row)
        if value is None:
            return None
        return by_drf(serializer, row) if type(value) in FUNCTIONS else represent(value)

    return read


def _by_drf(name: str) -> Read:
    """Return what reads a field as DRF does, by the serializer's own copy of it."""

    def read(serializer: CompiledSerializer, row: Any) -> object:  # noqa: ANN401 (whatever has the fields)
        field = serializer.fields[name]
        value = field.get_attribute(row)
        is_none = value is None or (isinstance(value, PKOnlyObject) and value.pk is None)
        return None if is_none else field.to_representation(value)

    return read


def _same(value: object) -> object:
    return value


def _represented(field: DrfField) -> Represent | None:
    """Return what makes an answer of a value that is not None; None where the field may ask for more than the value."""
    method = type(field).to_representation
    if method in UNCHANGED:
        return _same
    if method in BUILT_IN:
        return BUILT_IN[method]
    if method in OF_THE_VALUE or isinstance(field, CompiledSerializer) or getattr(field, "is_of_the_value", False):
        represent: Represent = field.to_representation
        return represent
    make = MANY.get(method)
    child = _represented(field.child_relation if make is _related else field.child) if make else None
    return make(child) if make and child else None


def _listed(child: Represent) -> Represent:
    return lambda values: [None if one is None else child(one) for one in values]


def _named(child: Represent) -> Represent:
    return lambda values: {str(name): None if one is None else child(one) for name, one in values.items()}


def _rows(child: Represent) -> Represent:
    return lambda rows: [child(one) for one in (rows.all() if isinstance(rows, BaseManager) else rows)]


def _related(child: Represent) -> Represent:
    return lambda rows: [child(one) for one in rows]


MANY = {
    serializers.ListField.to_representation: _listed,
    serializers.DictField.to_representation: _named,
    serializers.ListSerializer.to_representation: _rows,
    ManyRelatedField.to_representation: _related,
}


def _is_found_as_usual(field: DrfField) -> bool:
    """Tell whether a field's value is that of an attribute, or the row."""
    if isinstance(field, RelatedField) and field.use_pk_only_optimization():
        return False
    usual = (Field.get_attribute, RelatedField.get_attribute, ManyRelatedField.get_attribute)
    return type(field).get_attribute in usual


def _key_column(of: type[CompiledSerializer], field: DrfField) -> str:
    """Return the column of a foreign key that is shown as it is; empty for other fields."""
    model = getattr(getattr(of, "Meta", None), "model", None)
    is_key = type(field).to_representation is serializers.PrimaryKeyRelatedField.to_representation
    if not is_key or model is None or field.pk_field or type(field).get_attribute is not RelatedField.get_attribute:
        return ""
    try:
        column = model._meta.get_field(field.source)
    except FieldDoesNotExist:
        return ""
    return column.attname if isinstance(column, ForeignKey) else ""

"""What a playbook says: its axes, their matrix of arms, and what was published for each; pure."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict, cast

from django.utils.functional import Promise, lazy
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.engines import ENGINES
from benchmarks.errors import InvalidFields
from benchmarks.models.options import DatasetOptions, RunOptions
from core.lib import toml_lines
from core.lib.toml_lines import line_of, schema_faults
from pools.poolers import kinds_that

if TYPE_CHECKING:
    from jsonschema import ValidationError

MOST_ARMS = 60
MOST_CELLS = 1000  # cells of the matrix before `exclude`: the matrix is built to be counted
SCHEMA_FILE = Path(__file__).parent / "playbooks" / "schema.json"
# axes whose values are no options of the load program
ENDPOINT, WORKLOAD, PROFILE, AUTH, HOST = "endpoint", "workload", "profile", "auth", "host"


class InvalidPlaybook(InvalidFields):
    """A playbook's text can't be taken; each message names the key and the line."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__({"toml": list(faults)})


class ScaleTable(TypedDict, total=False):
    """`[quick]` or `[published_scale]` of a playbook's TOML."""

    repeats: int
    dataset: DatasetOptions
    options: RunOptions
    axes: Mapping[str, Sequence[object]]
    seconds: int


class EndpointTable(TypedDict):
    """`endpoint` of an axis value; `size` and `mode` are of its pool."""

    kind: str
    size: NotRequired[int]
    mode: NotRequired[str]


class AxisSets(TypedDict, total=False):
    """The options and settings that an axis value sets in its arms."""

    options: RunOptions
    profile: Mapping[str, str]
    auth: str
    host: str
    endpoint: EndpointTable


class NeedsTable(TypedDict, total=False):
    """The requirements on the server that hold for all arms."""

    max_connections: int
    memory_mb: int


class PlaybookTable(TypedDict):
    """A playbook's TOML, once the schema has found no fault in it."""

    name: str
    title: str
    summary: NotRequired[str]
    engine: NotRequired[str]
    source: NotRequired[Mapping[str, str]]
    axes: Mapping[str, Sequence[object]]
    baseline: Mapping[str, object]
    metrics: Sequence[str]
    derived: NotRequired[Sequence[str]]
    options: NotRequired[RunOptions]
    quick: ScaleTable
    published_scale: ScaleTable
    published: NotRequired[Sequence[Mapping[str, float | str]]]
    exclude: NotRequired[Sequence[Mapping[str, object]]]
    needs: NotRequired[NeedsTable]
    conclusion: NotRequired[str]


@dataclass(frozen=True)
class EndpointSpec:
    """The endpoint that the load of an arm goes to.

    `kind`: direct, or that of a pooler; pools have `size` (server connections; the rest of the cluster's budget where
    that is less) and `mode`.
    """

    kind: str = "direct"
    size: int = 0
    mode: str = "transaction"

    @property
    def is_pooled(self) -> bool:
        """True if a pooler stands before the server."""
        return self.kind != "direct"


@dataclass(frozen=True)
class AxisValue:
    """One value of an axis: how it is written in keys, what it is called, and what it sets in its arms."""

    key: str
    label: str | Promise
    sets: AxisSets
    explains: str = ""


@dataclass(frozen=True)
class ArmSpec:
    """One cell of the matrix; `values` are keys of axis values by axis, `published` figures by metric."""

    key: str
    label: str
    values: Mapping[str, str]
    endpoint: EndpointSpec
    options: RunOptions
    profile: Mapping[str, str] = field(default_factory=dict)
    auth: str = ""
    other_host: bool = False
    published: Mapping[str, float | str] = field(default_factory=dict)

    def published_figure(self, metric: str) -> float | None:
        """Return the published figure of a metric; None where that is not a number."""
        figure = self.published.get(metric)
        return figure if isinstance(figure, int | float) else None


@dataclass(frozen=True)
class Scale:
    """The scale of a playbook: `quick` here in minutes, or as it was `published`.

    With `seconds`, blocks go on for that long unless the arms are judged before; else their number is `repeats`.
    """

    repeats: int
    dataset: DatasetOptions
    options: RunOptions
    axes: Mapping[str, Sequence[str]]  # the values that take part, by axis; all where an axis is absent
    seconds: int | None = None


@dataclass(frozen=True)
class PlaybookSpec:
    """A playbook as its TOML says; `baseline` gives axis values that the arm to compare with has instead."""

    name: str
    title: str
    summary: str
    engine: str
    source: Mapping[str, str]
    axes: Mapping[str, tuple[AxisValue, ...]]
    baseline: Mapping[str, str]
    metrics: tuple[str, ...]
    derived: tuple[str, ...]
    options: RunOptions
    quick: Scale
    published_scale: Scale
    published: tuple[Mapping[str, float | str], ...]
    exclude: tuple[Mapping[str, object], ...]
    needs: NeedsTable
    conclusion: str
    text: str = ""

    @property
    def metric(self) -> str:
        """The figure that verdicts rest on: the first."""
        return self.metrics[0]

    def scale(self, *, quick: bool) -> Scale:
        """Return the size to carry it out in."""
        return self.quick if quick else self.published_scale

    def arms(self, *, quick: bool, overrides: Mapping[str, object] | None = None) -> tuple[ArmSpec, ...]:
        """Return the matrix of the axes without what is excluded, in the order of the axes."""
        scale = self.scale(quick=quick)
        taken = [
            [one for one in values if name not in scale.axes or one.key in scale.axes[name]]
            for name, values in self.axes.items()
        ]
        arms = (self._arm(cell, scale, overrides or {}) for cell in product(*taken))
        return tuple(arm for arm in arms if not self._is_excluded(arm.values))

    def baseline_of(self, arm: ArmSpec, arms: Sequence[ArmSpec]) -> ArmSpec | None:
        """Return the arm that this one is compared with; None of a baseline itself, or where there is none."""
        values = dict(arm.values) | dict(self.baseline)
        return next((one for one in arms if dict(one.values) == values and one.key != arm.key), None)

    def _arm(self, cell: Sequence[AxisValue], scale: Scale, overrides: Mapping[str, object]) -> ArmSpec:
        names = list(self.axes)
        values = {name: value.key for name, value in zip(names, cell, strict=True)}
        options: dict[str, object] = {**self.options, **scale.options}
        sets: AxisSets = {}
        for value in cell:
            options |= value.sets.get("options", {})
            sets = {**sets, **value.sets}
        arm_options = {name: value for name, value in {**options, **overrides}.items() if value is not None}
        return ArmSpec(
            key="-".join(values.values()),
            label=", ".join(str(value.label) for value in cell),
            values=values,
            endpoint=EndpointSpec(**sets["endpoint"]) if "endpoint" in sets else EndpointSpec(),
            options=_fitted(self.engine, cast("RunOptions", arm_options)),
            profile=sets.get("profile", {}),
            auth=sets.get("auth", ""),
            other_host=sets.get("host") == "other",
            published=self._published_for(values),
        )

    def _published_for(self, values: Mapping[str, str]) -> Mapping[str, float | str]:
        for row in self.published:
            if all(str(row[name]) == key for name, key in values.items() if name in row):
                return {name: figure for name, figure in row.items() if name not in values}
        return {}

    def _is_excluded(self, values: Mapping[str, str]) -> bool:
        return any(all(values.get(name) == str(key) for name, key in row.items()) for row in self.exclude)


def parse(text: str, *, is_new: bool = False) -> PlaybookSpec:
    """Read a playbook; raises `InvalidPlaybook` with each fault, its key and its line.

    With `is_new`, endpoints of a kind that takes no pools of an experiment are faults: a stored text may name a kind
    that the panel no longer has, and is still shown.
    """
    try:
        raw = toml_lines.read(text)
    except toml_lines.NotToml as error:
        raise InvalidPlaybook([_("not TOML: %(reason)s") % {"reason": error}]) from None
    if faults := list(_faults(text, raw, _schema_of_new() if is_new else _schema())):
        raise InvalidPlaybook(faults)
    spec = _read(cast("PlaybookTable", raw), text)
    if faults := list(_contradictions(text, spec)):
        raise InvalidPlaybook(faults)
    return spec


@cache
def _schema() -> Mapping[str, object]:
    schema: Mapping[str, object] = json.loads(SCHEMA_FILE.read_text())
    return schema


@cache
def _schema_of_new() -> Mapping[str, object]:
    """Return the schema with the kinds of poolers that take the pools of an experiment."""
    schema = json.loads(SCHEMA_FILE.read_text())
    kinds = {"enum": ["direct", *kinds_that("takes_experiments")]}
    return {**schema, "$defs": {**schema["$defs"], "endpoint_kind": kinds}}


def _faults(text: str, raw: Mapping[str, object], schema: Mapping[str, object]) -> Iterator[str]:
    for error in schema_faults(raw, schema):
        cause = _innermost_fault(error)
        yield _named(text, list(cause.absolute_path), _message(cause))


def _innermost_fault(error: "ValidationError") -> "ValidationError":
    """Return the fault that an "is valid under none of the schemas" is about: that which lies deepest."""
    while error.context:
        error = max(error.context, key=lambda one: len(one.absolute_path))
    return error


def _message(fault: "ValidationError") -> str:
    """Return the schema's message; for a missing key, the most frequent fault, in the reader's language."""
    if fault.validator == "required":
        return _("%(key)s is a required property") % {"key": fault.message.split(" is ")[0]}
    return fault.message


def _named(text: str, path: Sequence[str | int], message: str) -> str:
    words = {"line": line_of(text, path), "key": ".".join(map(str, path)), "message": message}
    return (_("line %(line)s, %(key)s: %(message)s") if path else _("line %(line)s: %(message)s")) % words


def _read(raw: PlaybookTable, text: str) -> PlaybookSpec:
    return PlaybookSpec(
        name=raw["name"],
        title=raw["title"],
        summary=raw.get("summary", ""),
        engine=raw.get("engine", "pgbench"),
        source=raw.get("source", {}),
        axes={name: tuple(_axis(name, values)) for name, values in raw["axes"].items()},
        baseline={name: str(key) for name, key in raw["baseline"].items()},
        metrics=tuple(raw["metrics"]),
        derived=tuple(raw.get("derived", ())),
        options=raw.get("options", {}),
        quick=_scale(raw["quick"]),
        published_scale=_scale(raw["published_scale"]),
        published=tuple(raw.get("published", ())),
        exclude=tuple(raw.get("exclude", ())),
        needs=raw.get("needs", {}),
        conclusion=raw.get("conclusion", ""),
        text=text,
    )


def _scale(one: ScaleTable) -> Scale:
    axes = {axis: [str(key) for key in keys] for axis, keys in one.get("axes", {}).items()}
    return Scale(one.get("repeats", 3), one.get("dataset", {}), one.get("options", {}), axes, one.get("seconds"))


def _axis(name: str, values: Sequence[object]) -> Iterator[AxisValue]:
    """Yield the values of an axis: tables, or plain values of the option that the axis is named for."""
    for value in values:
        if isinstance(value, dict):
            sets = {key: one for key, one in value.items() if key not in ("key", "label", "explains")}
            yield AxisValue(
                str(value["key"]),
                value.get("label", str(value["key"])),
                cast("AxisSets", sets),
                value.get("explains", ""),
            )
        else:
            word = str(value).lower() if isinstance(value, bool) else str(value)
            yield AxisValue(word, _option_label(name, word), {"options": cast("RunOptions", {name: value})})


def _option_in_words(name: str, word: str) -> str:
    if name == "clients" and word.isdigit():
        return ngettext("%(n)s client", "%(n)s clients", int(word)) % {"n": word}
    if name == "concurrency" and word.isdigit():
        return ngettext("%(n)s worker", "%(n)s workers", int(word)) % {"n": word}
    return f"{word} {name.replace('_', ' ')}"


# lazy, as built-in playbooks are read once for readers of all languages
_option_label = lazy(_option_in_words, str)


def _contradictions(text: str, spec: PlaybookSpec) -> Iterator[str]:
    for name, keys in _referred(spec):
        if name not in spec.axes:
            yield _named(
                text,
                ["baseline", name],
                _("there is no axis of that name: use one of %(axes)s") % {"axes": ", ".join(spec.axes)},
            )
        elif unknown := [key for key in keys if key not in {one.key for one in spec.axes[name]}]:
            yield _named(text, ["axes", name], _("the axis has no value %(key)s") % {"key": ", ".join(unknown)})
    cells = prod(len(values) for values in spec.axes.values())
    if cells > MOST_CELLS:
        yield _named(text, ["axes"], _too_many(cells))
        return
    for quick in (True, False):
        arms = spec.arms(quick=quick)
        if len(arms) > MOST_ARMS:
            yield _named(text, ["axes"], _too_many(len(arms)))
        if len({arm.key for arm in arms}) < len(arms) or len(arms) < 2:
            yield _named(text, ["axes"], _("the matrix needs two arms or more, each with a key of its own"))


def _too_many(count: int) -> str:
    return _("%(count)s arms are too many: use at most %(most)s") % {"count": count, "most": MOST_ARMS}


def _referred(spec: PlaybookSpec) -> Iterator[tuple[str, list[str]]]:
    """Yield each axis that is named outside the axes, with the keys that are named of it."""
    yield from ((name, [key]) for name, key in spec.baseline.items())
    for scale in (spec.quick, spec.published_scale):
        yield from ((name, list(keys)) for name, keys in scale.axes.items())


def _fitted(engine: str, options: RunOptions) -> RunOptions:
    """Return the options as the engine fits them; as they are where it is not registered."""
    return ENGINES[engine].fitted(options) if engine in ENGINES else options

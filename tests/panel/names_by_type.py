"""Finds names that promise a class and hold something else, by the types that mypy infers; `python -m` lists them.

The promise: a name that is a class's name in snake case (`pool_set` for `PoolSet`) holds one, or may be None; its
plural holds several. A class of one word counts where it is a model, since a line or a value is more than a class.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from mypy import build, nodes, patterns, types
from mypy.find_sources import create_source_list
from mypy.main import process_options
from mypy.modulefinder import BuildSource

ROOT = Path(__file__).resolve().parent.parent.parent
OPTIONS: list[str] = []  # options of mypy besides those in pyproject.toml
APPS = ("core", "panel", "pools", "benchmarks")
WITH_MODELS = ("panel.", "pools.")  # benchmarks speaks of runs, pools and hosts where it measures some of their figures
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
MODEL = "django.db.models.base.Model"
# Names with the types that they may hold too, by their beginning, and why.
ALSO_HOLD = {
    "host": ("str", "pools.hosts."),  # the name of a server, as in libpq and PgBouncer; a connection to a host
    "generator": ("str",),  # a generator is known by the name in POOLDECK_GENERATOR
    "role_password": ("str",),  # the password itself
    "pool": ("str", "uuid.UUID", "dict["),  # columns of files; words of a command line
    "pools": ("int", "tuple[uuid", "frozenset[uuid"),  # how many; ids in the error `Rejected`
    "cluster": ("str",),  # columns of files; words of a command line
    "pooler": ("str",),  # a column of the file of create commands
    "entry": ("tuple[", "pools.poolers."),  # lines of configuration files
    "entries": ("int",),  # how many, in the API
    "events": ("list[TypedDict(pools.monitoring.channels.",),  # as webhooks receive them
    "run": ("dict[",),  # the JSON of a run, as the command line reads it
    "threshold": ("dict[",),  # the JSON of a threshold, as the command line reads it
    "experiment": ("dict[",),  # the JSON of an experiment, as script/up --once reads it
    "revision": ("int",),  # its number, as whoever fetches files knows it
    "playbook": ("str",),  # its name, as POST experiments takes it
    "tag": ("str",),  # of difflib; of a cluster in /v2/
    "sample": ("str", "list["),  # an example of what was found
    "init_progress": ("list[",),  # progress has no plural
}
# What declares a field holds what its instances give; what reads a class holds no instance.
DECLARATIONS = ("django.db.models.fields.", "django.forms.fields.", "rest_framework.fields.", "django_filters.filters.")


@dataclass(frozen=True)
class Binding:
    """A variable, parameter, attribute or property with its type."""

    name: str
    type: types.Type
    line: int
    scope: str


@dataclass(frozen=True)
class Lie:
    """A name in a file that holds another type than it says."""

    path: str
    line: int
    scope: str
    name: str
    held: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.scope}{self.name} holds {self.held}"


def snake_case(name: str) -> str:
    """Return the name of a class as a variable has it: `pool_set` for `PoolSet`, `http_load` for `HTTPLoad`."""
    return _WORDS.sub("_", name.lstrip("_")).lower()


def plural(name: str) -> str:
    """Return the plural of a noun: `entries`, `statuses`, `pools`."""
    if name.endswith("y") and name[-2:-1] not in "aeiou":
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith(("s", "x", "ch", "sh")) else f"{name}s"


def trees() -> dict[str, nodes.MypyFile]:
    """Return the checked syntax tree of each module of the project; the cache of mypy spares all others."""
    _sources, options = process_options([*OPTIONS, *APPS])
    options.export_types = options.preserve_asts = True
    found = [one for one in create_source_list(list(APPS), options) if one.path and "/migrations/" not in one.path]
    with_text = [BuildSource(one.path, one.module, Path(one.path or "").read_text(), one.base_dir) for one in found]
    result = build.build(with_text, options)
    if result.errors:
        raise RuntimeError("\n".join(result.errors))
    return {one.module: result.files[one.module] for one in with_text}


@dataclass
class Classes:
    """The classes of the project by the names that promise one of them."""

    infos: list[nodes.TypeInfo]

    @cached_property
    def by_name(self) -> Mapping[str, list[nodes.TypeInfo]]:
        """Singular → the classes of that name, which several modules may have."""
        found: dict[str, list[nodes.TypeInfo]] = {}
        for info in self.infos:
            found.setdefault(snake_case(info.name), []).append(info)
        return found

    @cached_property
    def singular_of(self) -> Mapping[str, str]:
        """Plural → singular."""
        return {plural(name): name for name in self.by_name}

    def promised(self, name: str, module: nodes.MypyFile) -> list[nodes.TypeInfo]:
        """Return the classes of which a singular name in this module promises one; none where it promises nothing."""
        infos = self.by_name.get(name, [])
        if "_" in name:
            return infos
        return [info for info in infos if is_model(info)] if module.fullname.startswith(WITH_MODELS) else []


def is_model(info: nodes.TypeInfo) -> bool:
    """Return whether a class has rows of its own."""
    return info.has_base(MODEL) and not info.metadata.get("django", {}).get("is_abstract_model", False)


def defined_in(tree: nodes.MypyFile) -> Iterator[nodes.TypeInfo]:
    """Yield the classes of a module."""
    for symbol in tree.names.values():
        if isinstance(symbol.node, nodes.TypeInfo) and symbol.node.module_name == tree.fullname:
            yield symbol.node


# Where a node refers to what stands elsewhere in the tree, or in another.
REFERENCES = {"node", "info", "expanded", "original_def", "def_var", "type", "unanalyzed_type", "analyzed", "names"}
PARTS = (nodes.Statement, nodes.Expression, nodes.Argument, patterns.Pattern)


def parts_of(node: nodes.Node) -> Iterator[nodes.Node]:
    """Yield the statements, expressions, parameters and patterns that a node is made of."""
    for kind in type(node).__mro__:
        for name in getattr(kind, "__mypyc_attrs__", ()):
            if name not in REFERENCES and not name.startswith("__"):
                yield from _nodes_in(getattr(node, name, None))


def _nodes_in(value: object) -> Iterator[nodes.Node]:
    if isinstance(value, PARTS):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _nodes_in(one)


@dataclass
class Bindings:
    """Collects each variable, parameter and attribute of a module, and each property, with its type."""

    tree: nodes.MypyFile
    found: dict[int, Binding] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)

    def walk(self, node: nodes.Node, scope: str = "") -> None:
        """Collect what a node binds, and all below it."""
        if id(node) in self.seen:
            return
        self.seen.add(id(node))
        self._note(node, scope)
        within = f"{scope}{node.name}." if isinstance(node, (nodes.FuncDef, nodes.ClassDef)) else scope
        for part in parts_of(node):
            self.walk(part, within)

    def _note(self, node: nodes.Node, scope: str) -> None:
        match node:
            case nodes.FuncDef(is_property=True, type=types.CallableType() as type_):
                self.found[id(node)] = Binding(node.name, type_.ret_type, node.line, scope)
            case nodes.Argument():
                self._note_variable(node.variable, node.line, scope)
            case nodes.NameExpr(node=nodes.Var() as variable) if node.kind != nodes.GDEF or self._is_own(variable):
                self._note_variable(variable, node.line, scope)
            case nodes.MemberExpr(def_var=nodes.Var() as variable):
                self._note_variable(variable, node.line, scope)

    def _is_own(self, variable: nodes.Var) -> bool:
        return variable.fullname.rpartition(".")[0] == self.tree.fullname

    def _note_variable(self, variable: nodes.Var, line: int, scope: str) -> None:
        if variable.type is not None:
            self.found.setdefault(id(variable), Binding(variable.name, variable.type, line, scope))


def lies_of(tree: nodes.MypyFile, classes: Classes) -> Iterator[Lie]:
    """Yield the names of a module that hold something else than they promise."""
    bindings = Bindings(tree)
    for definition in tree.defs:
        bindings.walk(definition)
    path = str(Path(tree.path).resolve().relative_to(ROOT))
    for one in bindings.found.values():
        if one.line < 0:  # a method that a plugin adds
            continue
        if held := lie_of(one.name.lstrip("_"), one.type, tree, classes):
            yield Lie(path, one.line, one.scope, one.name, held)


def lie_of(name: str, type_: types.Type, tree: nodes.MypyFile, classes: Classes) -> str:
    """Return the type that a name holds where that is none that it promises; empty where it is."""
    if all(str(item).startswith(ALSO_HOLD.get(name, ("-",))) for item in _without_none(type_)):
        return ""
    if promised := classes.promised(name, tree):
        is_kept = any(_is_one(item, promised) for item in _without_none(type_))
    elif promised := classes.promised(classes.singular_of.get(name, ""), tree):
        is_kept = any(_are_several(item, promised) for item in _without_none(type_))
    else:
        return ""
    return "" if is_kept else str(types.get_proper_type(type_))


def _items(type_: types.Type) -> list[types.ProperType]:
    proper = types.get_proper_type(type_)
    items = proper.items if isinstance(proper, types.UnionType) else [proper]
    return [types.get_proper_type(item) for item in items]


def _without_none(type_: types.Type) -> list[types.ProperType]:
    items = _items(type_)
    return [item for item in items if not isinstance(item, types.NoneType)] or items


def _is_one(type_: types.ProperType, promised: Iterable[nodes.TypeInfo]) -> bool:
    match type_:
        case types.AnyType() | types.NoneType() | types.UninhabitedType():
            return True
        case types.CallableType() if type_.ret_type is not type_:
            return any(_is_one(item, promised) for item in _items(type_.ret_type))
        case types.TypeVarType():
            return any(_is_one(item, promised) for item in _items(type_.upper_bound))
        case types.TupleType():
            return _is_one(type_.partial_fallback, promised)
        case types.TypedDictType() | types.LiteralType():
            return _is_one(type_.fallback, promised)
        case types.Instance(type=nodes.TypeInfo(fullname="builtins.staticmethod")):
            return any(_is_one(item, promised) for one in type_.args for item in _items(one))
        case types.Instance():
            return any(_is_kind_of(type_.type, info) for info in promised) or _says_nothing(type_.type)
        case _:
            return False


def _are_several(type_: types.ProperType, promised: Iterable[nodes.TypeInfo]) -> bool:
    match type_:
        case types.AnyType() | types.NoneType() | types.UninhabitedType():
            return True
        case types.TupleType():
            return all(_is_one(item, promised) for one in type_.items for item in _items(one))
        case types.Instance() if type_.type.has_base("typing.Iterable") or type_.type.has_base("typing.AsyncIterable"):
            parts = [item for one in type_.args for item in _items(one)]
            return not parts or any(_is_one(item, promised) or _are_several(item, promised) for item in parts)
        case types.Instance():
            return _says_nothing(type_.type) or type_.type.name.endswith(("Manager", "s"))
        case _:
            return False


def _is_kind_of(held: nodes.TypeInfo, info: nodes.TypeInfo) -> bool:
    """Return whether what is held is one, or by its name a kind of one (`ShelfEntry` of `Entry`), or a value of it."""
    is_value = info.is_enum and any(info.has_base(base.fullname) for base in held.mro[:1])
    return held.has_base(info.fullname) or held.name.endswith(info.name) or is_value


def _says_nothing(held: nodes.TypeInfo) -> bool:
    return held.fullname == "builtins.object" or any(base.fullname.startswith(DECLARATIONS) for base in held.mro)


def find() -> tuple[list[Lie], int]:
    """Return the lies of the whole project, and the number of bindings that promise something."""
    checked = trees()
    classes = Classes([info for tree in checked.values() for info in defined_in(tree)])
    return [lie for tree in checked.values() for lie in lies_of(tree, classes)], len(classes.infos)


if __name__ == "__main__":
    lies, _classes = find()
    sys.stdout.writelines(f"{lie}\n" for lie in lies)

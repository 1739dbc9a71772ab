"""Finds texts in Python that people read and no translator would see, or that gettext can't find or take apart."""

import ast
import re
from collections.abc import Iterator

from tests.panel.template_texts import has_words

GETTEXT = {"_", "gettext", "gettext_lazy", "ngettext", "ngettext_lazy", "pgettext", "pgettext_lazy", "npgettext"}
GETTEXT |= {"npgettext_lazy"}
KEYWORDS = {"label", "help_text", "verbose_name", "verbose_name_plural", "empty_label"}
MESSAGES = {"debug", "info", "success", "warning", "error"}  # of django.contrib.messages: (request, text)
ERRORS = {"ValidationError", "PermissionDenied", "ParseError", "NotFound", "APIException"}
CHOICES = {"TextChoices", "IntegerChoices"}
DOMAIN_ERRORS = ("core.lib.errors", "pools.errors", "benchmarks.errors")
_LETTER = re.compile(r"[^\W\d_]{2}")
_SENTENCE = re.compile(r"[^\W\d_]\S* \S*[^\W\d_]")


def untranslated(source: str, *, is_api: bool = False) -> list[tuple[int, str]]:
    """Line and text of every text that passes no gettext, or reaches it as an f-string.

    Names of programs, units and formats are the same in every language.
    Labels and help texts of an API's serializers are its description, which is English as docstrings are.
    """
    tree = ast.parse(source)
    errors, keywords = ERRORS | set(_domain_errors(tree)), set() if is_api else KEYWORDS
    found = [
        (text.lineno, ast.unparse(text))
        for node in ast.walk(tree)
        for text, least in _texts(node, errors, keywords)
        for text in _literals(text)
        if least.search(_letters(text)) and has_words(_letters(text))
    ]
    return sorted(set(found))


def _domain_errors(tree: ast.AST) -> Iterator[str]:
    """The names of the apps' own errors that a module imports; classes only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in DOMAIN_ERRORS:
            yield from (name.asname or name.name for name in node.names if name.name[:1].isupper())


def _texts(node: ast.AST, errors: set[str], keywords: set[str]) -> Iterator[tuple[ast.expr, re.Pattern[str]]]:
    """The expressions of a node that people read, each with what makes it a text."""
    match node:
        case ast.ClassDef(bases=bases, body=body) if any(_name(base) in CHOICES for base in bases):
            for statement in body:
                match statement:
                    case ast.Assign(value=ast.Tuple(elts=[value, *_, label])) if ast.dump(value) != ast.dump(label):
                        yield label, _LETTER  # one that equals its value is a word of the program's own: verify-full
        case ast.Call(func=func, args=args, keywords=named):
            name = _name(func)
            if name in GETTEXT:
                yield from ((arg, _LETTER) for arg in args if isinstance(arg, ast.JoinedStr))
                return
            yield from ((one.value, _LETTER) for one in named if one.arg in keywords)
            yield from ((arg, _SENTENCE) for arg in _arguments(func, name, args, errors))


def _arguments(func: ast.expr, name: str, args: list[ast.expr], errors: set[str]) -> list[ast.expr]:
    if name in errors:
        return args
    if isinstance(func, ast.Attribute) and (
        name == "add_error" or (name in MESSAGES and _name(func.value) == "messages")
    ):
        return args[1:]
    return []


def _literals(text: ast.expr) -> Iterator[ast.expr]:
    """The literals of an expression that reach a page, but for those that pass gettext."""
    match text:
        case ast.Constant(value=str()) | ast.JoinedStr():
            yield text
        case ast.BinOp(left=left, right=right):
            yield from (*_literals(left), *_literals(right))
        case ast.IfExp(body=body, orelse=orelse):
            yield from (*_literals(body), *_literals(orelse))
        case ast.Dict(values=values):
            for value in values:
                yield from _literals(value)
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.BoolOp(values=elements):
            for element in elements:
                yield from _literals(element)
        case ast.Call(func=ast.Attribute(value=left, attr="format" | "join" | "capitalize")):
            yield from _literals(left)


def _letters(text: ast.expr) -> str:
    if isinstance(text, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "0" for part in text.values)
    return str(text.value) if isinstance(text, ast.Constant) else ""


def _name(node: ast.expr) -> str:
    """The last part of a dotted name."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""

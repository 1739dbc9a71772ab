"""Loads templates without the white space that only lays them out: it was more than half of a page's bytes.

What Django works out again at each rendering although it never changes is worked out once here, as a row of a list has
twenty of them: the texts to look up in the catalogs, and the addresses of pages but for the id of a record.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any
from uuid import UUID

from django.template import Context, Origin, Template
from django.template.base import FilterExpression, TextNode, Variable, render_value_in_context
from django.template.defaulttags import URLNode
from django.template.loader_tags import IncludeNode
from django.template.loaders import cached
from django.templatetags.i18n import BlockTranslateNode, TranslateNode
from django.urls import NoReverseMatch, URLResolver, get_resolver, get_script_prefix, get_urlconf, reverse
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from panel.templatetags.rows import badge

_LINES = re.compile(r"\s*\n\s*")
# Browsers show no white space between the cells of a table, nor at the ends of one.
_AROUND_CELLS = re.compile(r"\n(?=</?(?:table|thead|tbody|tr|th|td)\b)|(?<=</t[dhr]>)\n|(?<=<t[dr]>)\n")
KEPT = ("<pre", "<textarea")  # their content is shown as it is
OF_FILES = ("_export.html",)  # pages that people keep
ANY_ID = UUID(int=0)
UNKNOWN = object()
BADGE = "includes/state.html"


class Loader(cached.Loader):
    """Django's loader that keeps compiled templates; the lines of their literal text lose their indentation.

    A line's end stays one, so that words stay apart, but for those around cells of tables. Texts to translate and
    values are left as they are.
    """

    def get_template(self, template_name: str, skip: list[Origin] | None = None) -> Template:
        """Return the template, compiled at its first use. Raises `TemplateDoesNotExist`."""
        template: Template = super().get_template(template_name, skip)
        if not getattr(template, "is_compact", False):
            template.is_compact = True  # type: ignore[attr-defined]  # kept with the template
            _remember_texts(template)
            _remember_addresses(template)
            _make_badges(template)
            if template_name.endswith(".html") and not template_name.endswith(OF_FILES):
                _compact(template)
        return template


@dataclass(frozen=True)
class _OfPage:
    """What holds while one page is rendered, in one language and below one prefix: texts of the catalog, and routes."""

    texts: dict[str, SafeString] = field(default_factory=dict)
    blocks: dict[str, str] = field(default_factory=dict)
    routes: tuple[URLResolver, str] = field(default_factory=lambda: (get_resolver(get_urlconf()), get_script_prefix()))


def _of_page(context: Context) -> _OfPage:
    """Return what is kept while a page is rendered with all that it includes, where Django keeps included templates."""
    kept: dict[Any, Any] = context.render_context.dicts[0]
    found: _OfPage | None = kept.get(_OfPage)
    if found is None:
        found = kept[_OfPage] = _OfPage()
    return found


def _compact(template: Template) -> None:
    if any(tag in str(template.source) for tag in KEPT):
        return
    texts = (node for node in template.nodelist.get_nodes_by_type(TextNode) if isinstance(node, TextNode))
    for text in texts:
        text.s = _AROUND_CELLS.sub("", _LINES.sub("\n", text.s))


def _remember_texts(template: Template) -> None:
    """Give the nodes of texts what to look up; the catalog itself is asked at each rendering, in its language."""
    for block in template.nodelist.get_nodes_by_type(BlockTranslateNode):
        _remember_block(block)  # type: ignore[arg-type]  # the stubs know no type of those that are found
    for node in template.nodelist.get_nodes_by_type(TranslateNode):
        words = node.filter_expression  # type: ignore[attr-defined]  # the stubs lack it
        if _is_literal(words.var) and not (words.filters or node.noop or node.message_context):  # type: ignore[attr-defined]
            text = words.var.literal.replace("%", "%%")  # as in the catalogs
            node.render = partial(_translated, text, node.asvar)  # type: ignore[attr-defined, method-assign]


def _remember_block(node: BlockTranslateNode) -> None:
    parts = {id(tokens): node.render_token_list(tokens) for tokens in (node.singular, node.plural or [])}

    def remembered(tokens: list[object]) -> tuple[str, list[str]]:
        text, names = parts[id(tokens)]
        return text, [*names]  # Django adds to the list

    node.render_token_list = remembered  # type: ignore[method-assign, assignment]
    if not (node.plural or node.countervar or node.message_context):
        text, names = parts[id(node.singular)]
        block = _Block(text, tuple(names), node.extra_context, node.asvar, node.render)
        node.render = block.render  # type: ignore[method-assign]


@dataclass(frozen=True)
class _Block:
    """A text with values and one form: what Django's node has, and its way to render itself.

    Django makes a context of the given values for each rendering, and looks each of them up in it twice.
    """

    text: str
    names: tuple[str, ...]
    given: Mapping[str, FilterExpression]
    name: str | None
    by_django: Callable[..., str]

    def render(self, context: Context, nested: bool = False) -> str:
        """Return the text in the reader's language, or put it into the context under its name."""
        if nested:  # Django tries again in the language of the templates
            return self.by_django(context, nested)
        given = {name: value.resolve(context) for name, value in self.given.items()}
        found = {name: given[name] if name in given else context.get(name, UNKNOWN) for name in self.names}
        if any(value is UNKNOWN for value in found.values()):
            return self.by_django(context)
        blocks = _of_page(context).blocks
        text = blocks.get(self.text) or blocks.setdefault(self.text, gettext(self.text))
        try:
            text %= {name: render_value_in_context(value, context) for name, value in found.items()}
        except (KeyError, ValueError):  # of a catalog with a mistake
            return self.by_django(context)
        if self.name is None:
            return text
        context[self.name] = mark_safe(text)  # noqa: S308 (a text of a template with values that are escaped)
        return ""


def _is_literal(words: object) -> bool:
    return isinstance(words, Variable) and isinstance(words.literal, str)


def _translated(text: str, name: str | None, context: Context) -> SafeString:
    """Return a literal text of a template in the reader's language, or put it into the context under its name."""
    found = _of_page(context).texts.get(text)
    if found is None:
        found = mark_safe(gettext(text).replace("%%", "%"))  # noqa: S308 (a text of a template or of its catalog)
        _of_page(context).texts[text] = found
    if name is None:
        return found
    context[name] = found
    return SafeString("")


def _remember_addresses(template: Template) -> None:
    """Let the nodes of addresses of one named page, or of a record by its id, put in the id and reverse nothing."""
    for node in template.nodelist.get_nodes_by_type(URLNode):
        given = vars(node)
        name = given["view_name"]
        is_plain = not (name.filters or given["kwargs"] or given["args"][1:])
        if is_plain and isinstance(name.var, str) and ":" not in name.var:
            address = _Address(name.var, given["args"], given["asvar"], node.render)
            node.render = address.render  # type: ignore[method-assign]


@dataclass(frozen=True)
class _Address:
    """The address of a page, or of a record by its id: what Django's node has, and its way to render itself."""

    page: str
    args: Sequence[FilterExpression]
    name: str | None
    by_django: Callable[[Context], str]

    def render(self, context: Context) -> str:
        """Return the address, or put it into the context under its name."""
        ids = [arg.resolve(context) for arg in self.args]
        if ids and not isinstance(ids[0], UUID):
            return self.by_django(context)
        try:
            before, after = _around_id(*_of_page(context).routes, self.page, bool(ids))
        except NoReverseMatch:
            return self.by_django(context)
        address = f"{before}{ids[0]}{after}" if ids else before
        if self.name is None:
            return conditional_escape(address) if context.autoescape else address
        context[self.name] = address
        return ""


@cache
def _around_id(_resolver: URLResolver, _prefix: str, page: str, has_id: bool) -> tuple[str, str]:
    """Return the address of a page up to the id of its record, and what follows. Raises `NoReverseMatch`."""
    before, _id, after = reverse(page, args=[ANY_ID] if has_id else []).partition(str(ANY_ID))
    return before, after


def _make_badges(template: Template) -> None:
    """Let the nodes that include a state's badge make it without that template, which takes longer than the badge."""
    for node in template.nodelist.get_nodes_by_type(IncludeNode):
        given = vars(node)
        if given["template"].var == BADGE and not given["isolated_context"]:
            node.render = partial(_badge, given["extra_context"])  # type: ignore[method-assign]


def _badge(given: Mapping[str, FilterExpression], context: Context) -> SafeString:
    values = {name: value.resolve(context) for name, value in given.items()}
    names = ("state", "label", "reason", "panel_is_paused")
    made = badge(*(values[name] if name in values else context.get(name) for name in names))
    return mark_safe(f"{made}\n")  # noqa: S308 (the template ends with a line's end, which keeps two badges apart)

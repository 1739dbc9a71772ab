"""Loads templates without the white space that only lays them out: it was more than half of a page's bytes.

What Django works out again at each rendering although it never changes, the texts to look up in the catalogs, is worked
out once here: a row of a list has twenty of them.
"""

import re
from functools import partial

from django.template import Context, Origin, Template
from django.template.base import TextNode, Variable
from django.template.loaders import cached
from django.templatetags.i18n import BlockTranslateNode, TranslateNode
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

_LINES = re.compile(r"\s*\n\s*")
# Browsers show no white space between the cells of a table, nor at the ends of one.
_AROUND_CELLS = re.compile(r"\n(?=</?(?:table|thead|tbody|tr|th|td)\b)|(?<=</t[dhr]>)\n|(?<=<t[dr]>)\n")
KEPT = ("<pre", "<textarea")  # their content is shown as it is
OF_FILES = ("_export.html",)  # pages that people keep


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
            if template_name.endswith(".html") and not template_name.endswith(OF_FILES):
                _compact(template)
        return template


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


def _is_literal(words: object) -> bool:
    return isinstance(words, Variable) and isinstance(words.literal, str)


def _translated(text: str, name: str | None, context: Context) -> SafeString:
    """Return a literal text of a template in the reader's language, or put it into the context under its name."""
    found = mark_safe(gettext(text).replace("%%", "%"))  # noqa: S308 (a text of a template or of its catalog)
    if name is None:
        return found
    context[name] = found
    return SafeString("")

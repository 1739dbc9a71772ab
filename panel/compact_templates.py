"""Loads templates without the white space that only lays them out: it was more than half of a page's bytes."""

import re

from django.template import Origin, Template
from django.template.base import TextNode
from django.template.loaders import cached

_LINES = re.compile(r"\s*\n\s*")
KEPT = ("<pre", "<textarea")  # their content is shown as it is
OF_FILES = ("_export.html",)  # pages that people keep


class Loader(cached.Loader):
    """Django's loader that keeps compiled templates; the lines of their literal text lose their indentation.

    A line's end stays one, so that words stay apart; texts to translate and values are left as they are.
    """

    def get_template(self, template_name: str, skip: list[Origin] | None = None) -> Template:
        """Return the template, compiled at its first use. Raises `TemplateDoesNotExist`."""
        template: Template = super().get_template(template_name, skip)
        if not getattr(template, "is_compact", False):
            template.is_compact = True  # type: ignore[attr-defined]  # kept with the template
            if template_name.endswith(".html") and not template_name.endswith(OF_FILES):
                _compact(template)
        return template


def _compact(template: Template) -> None:
    if any(tag in str(template.source) for tag in KEPT):
        return
    texts = (node for node in template.nodelist.get_nodes_by_type(TextNode) if isinstance(node, TextNode))
    for text in texts:
        text.s = _LINES.sub("\n", text.s)

"""Renders the plain controls of forms without templates: the form of a run has fifty, and three templates for each.

What comes out is what Django's templates of these widgets make, to the byte.
"""

from collections.abc import Callable, Mapping
from typing import Any

from django.forms.renderers import DjangoTemplates
from django.http import HttpRequest
from django.utils.formats import localize
from django.utils.html import conditional_escape

Widget = Mapping[str, Any]
ERRORS = "django/forms/errors/list/default.html"
OPTION = "django/forms/widgets/select_option.html"
INPUTS = ("text", "number", "hidden", "password", "email", "url", "checkbox")


class FormRenderer(DjangoTemplates):
    """Django's renderer, which asks a template for all but inputs, selects and lists of no errors."""

    def render(self, template_name: str, context: dict[str, Any], request: HttpRequest | None = None) -> str:
        """Return the HTML of a widget, a field, a form or its errors."""
        if template_name == ERRORS and not context["errors"]:
            return ""
        drawn = DRAWN.get(template_name)
        if drawn is None or not _is_plain(context["widget"]):
            return super().render(template_name, context, request)
        return drawn(context["widget"])  # each value is escaped below; the widget marks it safe


def _is_plain(widget: Widget) -> bool:
    groups = widget.get("optgroups", ())
    return all(option["template_name"] == OPTION for _name, options, _index in groups for option in options)


def _input(widget: Widget) -> str:
    value = "" if widget["value"] is None else f' value="{_text(widget["value"])}"'
    return f'<input type="{_text(widget["type"])}" name="{_text(widget["name"])}"{value}{_attributes(widget)}>'


def _select(widget: Widget) -> str:
    groups = "".join(_group(name, options) for name, options, _index in widget["optgroups"])
    return f'<select name="{_text(widget["name"])}"{_attributes(widget)}>{groups}\n</select>'


def _group(name: object, options: list[Widget]) -> str:
    listed = "".join(f"\n  {_option(option)}\n" for option in options)
    return f'\n  <optgroup label="{_text(localize(name))}">{listed}\n  </optgroup>' if name else listed


def _option(option: Widget) -> str:
    label = _text(localize(option["label"]))
    return f'<option value="{_text(option["value"])}"{_attributes(option)}>{label}</option>'


def _attributes(widget: Widget) -> str:
    given = ((_text(name), value) for name, value in widget["attrs"].items() if value is not False)
    return "".join(f" {name}" if value is True else f' {name}="{_text(value)}"' for name, value in given)


def _text(value: object) -> str:
    return conditional_escape(value if isinstance(value, str) else str(value))


DRAWN: dict[str, Callable[[Widget], str]] = {
    "django/forms/widgets/select.html": _select,
    **{f"django/forms/widgets/{kind}.html": _input for kind in INPUTS},
}

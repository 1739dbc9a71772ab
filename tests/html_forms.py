"""The forms of a page, as a browser without JavaScript would send them."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

NEVER_SENT = ("submit", "button", "image", "reset", "file")
ASKS = {"formaction": "post", "hx-post": "post", "hx-get": "get"}


@dataclass
class Form:
    """A form: each (method, address) that it is sent to ("" is the page itself), and its fields as they are filled in.

    A form goes to its action, and to what its buttons and htmx's attributes name.
    """

    targets: list[tuple[str, str]]
    values: dict[str, list[str]] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)

    def add(self, name: str, value: str | None) -> None:
        """Note a field; None where the browser would not send it."""
        if name not in self.names:
            self.names.append(name)
        if value is not None:
            self.values.setdefault(name, []).append(value)

    def without(self, *names: str) -> dict[str, list[str]]:
        """What is sent when the fields of these names are left out."""
        return {one: sent for one, sent in self.values.items() if one not in names}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._form: Form | None = None
        self._select: str | None = None
        self._textarea: str | None = None
        self._options: list[tuple[str, bool]] = []
        self._text = ""

    def handle_starttag(self, tag: str, given: list[tuple[str, str | None]]) -> None:
        attrs = {name: value or "" for name, value in given}
        if tag == "form":
            self._form = Form([(attrs.get("method", "get").lower(), attrs.get("action", ""))])
            self.forms.append(self._form)
        if self._form is None:
            return
        self._form.targets += [(method, attrs[name]) for name, method in ASKS.items() if name in attrs]
        name = attrs.get("name", "")
        if tag == "input" and name:
            self._input(self._form, name, attrs)
        elif tag == "select":
            self._select, self._options = name, []
        elif tag == "option":
            self._options.append((attrs.get("value", ""), "selected" in attrs))
        elif tag == "textarea":
            self._textarea, self._text = name, ""

    def _input(self, form: Form, name: str, attrs: dict[str, str]) -> None:
        kind = attrs.get("type", "text")
        if kind in NEVER_SENT:
            return
        is_sent = kind not in ("checkbox", "radio") or "checked" in attrs
        form.add(name, attrs.get("value", "on" if kind == "checkbox" else "") if is_sent else None)

    def handle_data(self, data: str) -> None:
        self._text += data if self._textarea is not None else ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif self._form and tag == "select" and self._select:
            chosen = [value for value, is_chosen in self._options if is_chosen]
            self._form.add(self._select, (chosen or [value for value, _ in self._options] or [None])[0])
            self._select = None
        elif self._form and tag == "textarea" and self._textarea is not None:
            self._form.add(self._textarea, self._text)
            self._textarea = None


def of_page(text: str) -> list[Form]:
    """Read the forms of a page."""
    reader = _Reader()
    reader.feed(text)
    return reader.forms

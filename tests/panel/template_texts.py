"""Finds texts of templates that no translator sees: outside `{% translate %}`, `{% blocktranslate %}` and `_()`.

It also finds sentences into which a template puts another translated text: translators can't handle such parts.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise

from django.template.base import Lexer, Token, TokenType

HOLE = "\ue000"  # stands for what a template tag or variable puts there
ATTRIBUTES = {"title", "aria-label", "aria-description", "placeholder", "alt", "label", "data-label", "hx-confirm"}
ARGUMENTS = {
    "text",
    "heading",
    "placeholder",
    "label",
    "what",
    "note",
    "reason",
    "action_label",
    "title",
    "nothing",
    "word",
}
# tags of ours that may show a literal; firstof's is often a key, so it takes a text as _("…")
SHOWN = {"when", "breadcrumbs", "card_header", "form_end", "table_head"}
NO_TEXT = {"id", "level", "drawing"}  # arguments of these tags
HANDS_ON = ("include", "with", "alert")
BLOCKS = ("blocktranslate", "blocktrans")
NOT_TEXT = {"code", "pre", "kbd", "samp", "script", "style"}
# Names of programs, units and formats are the same in every language.
PROGRAMS = "Pooldeck PostgreSQL PgBouncer Pgpool II HAProxy pgbench sysbench JMeter Redis"
FORMATS = "API CSV HTML HTTP HTTPS JSON PDF SQL SVG TLS URI URL WAL PID pid"
UNITS = "ms s min h B kB KB MB GB TB KiB MiB GiB tps x"
SAME_EVERYWHERE = {*PROGRAMS.split(), *FORMATS.split(), *UNITS.split()}
IS_PAGE = re.compile(r'"[a-z]+-[a-z-]+"')  # the name of a URL
_WORD = re.compile(r"[^\W\d_]+")
_FIGURE = re.compile(r"\bp\d+(\.\d+)?\b")  # percentiles
_FILTER = re.compile(r"\|(?:default|default_if_none|yesno|add):(\"[^\"]*\"|'[^']*')")
_LITERAL = re.compile(r"(?:(\w+)=)?(\"[^\"]*\"|'[^']*')")
_GIVEN = re.compile(r"(\w+)=(_\(.*\)|\w+)")
_ALIAS = re.compile(r"(\w+)=(\w+)")
_LABEL = "“{{ %s }}”", "{{ %s }}: ", ": {{ %s }}"  # a quotation, what a text is about, or what it names last


@dataclass(frozen=True)
class Untranslated:
    """A text, and the line that it begins on."""

    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.line}: {self.text}"


def untranslated(template: str) -> list[Untranslated]:
    """Every text of a template that passes no gettext, in the order of its lines."""
    tokens = Lexer(template).tokenize()
    reader = _Reader()
    reader.feed(_html_of(tokens))
    reader.close()
    return sorted({*reader.found, *_arguments(tokens)}, key=lambda found: (found.line, found.text))


def has_words(text: str) -> bool:
    """Whether a text holds words other than units and the names of programs."""
    return not set(_WORD.findall(_FIGURE.sub("", text))) <= SAME_EVERYWHERE


def _html_of(tokens: list[Token]) -> str:
    """The template as HTML: holes for its tags and variables, nothing for comments and translated blocks."""
    html, left_out = "", ""
    for token in tokens:
        lines = "\n" * token.contents.count("\n")
        name = (token.contents.split() or [""])[0] if token.token_type == TokenType.BLOCK else ""
        if left_out:
            html += lines
            left_out = "" if name == left_out else left_out
        elif name in ("comment", "blocktranslate", "blocktrans"):
            left_out = f"end{name}"
            html += "" if name == "comment" else HOLE
        elif token.token_type == TokenType.TEXT:
            html += token.contents
        elif token.token_type != TokenType.COMMENT:
            # `<{% if … %}div{% else %}label{% endif %}>` is a tag too, whose name has to begin with a letter
            html += ("x" if html.endswith(("<", "</")) else HOLE) + _words_in(token) + lines
    return html


def _words_in(token: Token) -> str:
    """What a variable's filters may show instead of it; the words of `pluralize` are none that gettext knows."""
    if token.token_type != TokenType.VAR:
        return ""
    words = [literal[1:-1] for literal in _FILTER.findall(token.contents)]
    words += ["pluralize"] if "|pluralize" in token.contents else []
    return HOLE.join(words)


def _arguments(tokens: list[Token]) -> list[Untranslated]:
    """The literal texts that `{% include %}`, `{% with %}` and `{% alert %}` hand on, and those that tags may show."""
    found = []
    for token in tokens:
        tag, *bits = token.split_contents() if token.token_type == TokenType.BLOCK and token.contents else [""]
        bits = [bit for bit in bits if not IS_PAGE.fullmatch(bit)] if tag in ("breadcrumbs", "form_end") else bits
        for name, literal in (match.groups() for bit in bits if (match := _LITERAL.fullmatch(bit))):
            is_text = (tag in SHOWN and name not in NO_TEXT) or (
                tag in HANDS_ON and (name in ARGUMENTS or (" " in literal and name not in ("class", "id")))
            )
            if is_text and has_words(literal) and not literal.isupper():  # SHOW POOLS
                found.append(Untranslated(token.lineno or 0, f"{name}={literal}" if name else literal))
    return found


def halves(templates: Mapping[str, str]) -> list[str]:
    """Return the sentences that put another translated text into their middle, by template and line.

    The other text is set by `{% translate … as x %}` in the same template, or in one that includes it, or handed on as
    `{% include … with x=_("…") %}`. A quotation and a label before or after a colon may be another text.
    """
    given: dict[str, set[str]] = {name: set() for name in templates}
    for template in templates.values():
        for included, names in _handed_on(Lexer(template).tokenize()):
            given.setdefault(included, set()).update(names)
    return [
        f"{name}:{line}: {part}: {text}"
        for name, template in templates.items()
        for line, text, parts in _sentences(Lexer(template).tokenize(), given[name])
        for part in parts
    ]


def _handed_on(tokens: list[Token]) -> Iterator[tuple[str, set[str]]]:
    """Yield the templates that this one includes, each with the names of the translated texts that it gets."""
    translated: set[str] = set()
    for token in tokens:
        translated |= _set_by(token)
        tag, *bits = token.split_contents() if token.token_type == TokenType.BLOCK and token.contents else [""]
        if tag == "include":
            own = {match[1]: match[2] for bit in bits[1:] if (match := _GIVEN.fullmatch(bit))}
            texts = {name for name, value in own.items() if value.startswith("_(") or value in translated}
            yield bits[0].strip("\"'"), texts | (translated - own.keys())


def _set_by(token: Token) -> set[str]:
    """Return the name that a `{% translate … as x %}` or `{% blocktranslate … asvar x %}` sets to its text."""
    tag, *bits = token.split_contents() if token.token_type == TokenType.BLOCK and token.contents else [""]
    word = "as" if tag == "translate" else "asvar"
    return {name for before, name in pairwise(bits) if before == word} if tag in ("translate", *BLOCKS) else set()


def _sentences(tokens: list[Token], translated: set[str]) -> Iterator[tuple[int, str, list[str]]]:
    """Yield line and text of each translated block, and which of these texts it puts into the middle of its own."""
    translated, opened, text = set(translated), None, ""
    for token in tokens:
        tag = (token.contents.split() or [""])[0] if token.token_type == TokenType.BLOCK else ""
        if tag in BLOCKS:
            opened, text = token, ""
        elif opened and tag in {f"end{name}" for name in BLOCKS}:
            sources = {match[1]: match[2] for bit in opened.split_contents() if (match := _ALIAS.fullmatch(bit))}
            plain = " ".join(text.split())
            parts = [part for part in re.findall(r"{{ (\w+) }}", plain) if sources.get(part, part) in translated]
            yield opened.lineno or 0, plain, [part for part in parts if not any(one % part in plain for one in _LABEL)]
            translated |= _set_by(opened)
            opened = None
        elif opened:
            text += f"{{{{ {token.contents} }}}}" if token.token_type == TokenType.VAR else token.contents
        else:
            translated |= _set_by(token)


@dataclass
class _Reader(HTMLParser):
    """Notes the texts between tags and in attributes that people read."""

    found: list[Untranslated] = field(default_factory=list)
    _skipped: list[str] = field(default_factory=list)  # the element whose text is no text, and those of its name in it

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if (self._skipped and self._skipped[0] == tag) or (
            not self._skipped and (tag in NOT_TEXT or given.get("translate") == "no")
        ):
            self._skipped.append(tag)
        read = ATTRIBUTES | ({"value"} if tag == "input" and given.get("type") in ("submit", "button") else set())
        for name, value in given.items():
            if name in read and not self._skipped:
                self._note(value or "", f'{name}="%s"')

    def handle_endtag(self, tag: str) -> None:
        if self._skipped and self._skipped[0] == tag:
            self._skipped.pop()

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self._note(data, "%s")

    def _note(self, text: str, shown: str) -> None:
        if has_words(text) and (first := _WORD.search(text)):
            above = text[: first.start()].count("\n")
            plain = " ".join(text.replace(HOLE, "…").split())
            self.found.append(Untranslated(self.getpos()[0] + above, shown % plain))

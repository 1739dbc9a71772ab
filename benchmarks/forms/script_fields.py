"""The part of a run's form that chooses its scripts: a built-in or library script, or a weighted mix of several."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from django import forms
from django.forms import BoundField
from django.utils.translation import gettext as _

from benchmarks.engines import script_gate
from benchmarks.engines.base import Field
from benchmarks.forms.visible import VisibleChoices
from benchmarks.library.scripts import library
from benchmarks.models import ScriptVersion
from core.accounts.access import Access
from pools.forms.base import PanelForm

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

SHOWN_APART = frozenset({"scripts", "variables", "stages"})  # kinds of options that have a section of their own
ROWS = 4
SPARE_ROWS = 2
SCRIPTS_SHOWN = 500
_ASSIGNED = re.compile(r"\s*(?P<name>[^=\s]+)\s*=\s*(?:'(?P<text>.*)'|(?P<number>[^'\s]+))\s*")


class TypedScripts(TypedDict, total=False):
    """The raw options that the section gives; empty where the engine has no scripts."""

    builtin: list[str] | None
    scripts: list[dict[str, str]] | None
    variables: dict[str, int | float | str] | None


class WithScripts(VisibleChoices, PanelForm):
    """A form whose field `builtin` also takes library scripts, with rows for a mix and a field of variables."""

    option_fields: tuple[Field, ...]

    def __init__(self, *args: object, access: Access, **kwargs: object) -> None:
        super().__init__(*args, access=access, **kwargs)
        self.rows = 0
        if "scripts" not in self.fields:
            return
        del self.fields["scripts"]
        chosen = self._chosen_before()
        self.rows = self._row_count(chosen)
        choices = self._choices(chosen)
        builtin: Any = self.fields["builtin"]
        self.fields["builtin"] = _choice(str(builtin.label), choices[1:], initial="select-only", help=builtin.help_text)
        self.fields["mix_rows"] = forms.CharField(required=False, initial=self.rows, widget=forms.HiddenInput)
        for row in range(self.rows):
            self._add_row(row, choices)
        self.fields["variables"] = lines_field(_("Variables"), str(self.fields["variables"].help_text))
        self._fill(chosen)

    def _chosen_before(self) -> list[dict[str, str]]:
        """Return the scripts of the cloned run as `{value or text, weight}`; empty if no run is cloned."""
        builtins = self.initial.get("builtin") or []
        parted = (one.partition("@") for one in (builtins if isinstance(builtins, list) else [builtins]))
        chosen = [{"value": name, "weight": weight or "1"} for name, _, weight in parted]
        versions = self.access.visible(ScriptVersion.objects.all())
        for script in self.initial.get("scripts") or []:
            kept = versions.filter(script__name=script["name"], number=script["version"] or 0).first()
            same = kept is not None and kept.text == script["text"]
            source = {"value": f"version:{kept.pk}"} if kept is not None and same else {"text": script["text"]}
            chosen.append({**source, "weight": str(script["weight"])})
        return chosen

    def _row_count(self, chosen: list[dict[str, str]]) -> int:
        posted = str(self.data.get("mix_rows", "")) if self.is_bound else ""
        count = int(posted) if posted.isdecimal() and len(posted) < 4 else ROWS
        return min(max(count, len(chosen) + SPARE_ROWS if len(chosen) > 1 else ROWS), script_gate.MAX_SCRIPTS)

    def _choices(self, chosen: list[dict[str, str]]) -> list[Any]:
        names = next((one.choices for one in self.option_fields if one.name == "builtin"), ())
        newest = list(self.access.visible(library.newest_versions())[:SCRIPTS_SHOWN])
        values = [one.get("value", "") for one in chosen] + [str(value) for value in self.data.values()]
        more = {value.removeprefix("version:") for value in values if re.fullmatch(r"version:[0-9]{1,18}", value)}
        versions = self.access.visible(ScriptVersion.objects.select_related("script"))
        further = versions.filter(pk__in=more - {str(one.pk) for one in newest})
        label = _("%(script)s, version %(number)s")
        kept = [
            (f"version:{one.pk}", label % {"script": one.script.name, "number": one.number})
            for one in [*newest, *further]
        ]
        return [
            ("", _("none")),
            (_("pgbench's built-in scripts"), [(name, name) for name in names]),
            (_("Library"), kept),
        ]

    def _add_row(self, row: int, choices: list[Any]) -> None:
        self.fields[f"mix_{row}_value"] = _choice(_("Script %(number)s") % {"number": row + 1}, choices)
        numbers = forms.NumberInput(attrs={"min": 1, "max": 1_000_000})
        self.fields[f"mix_{row}_weight"] = forms.CharField(
            label=_("Weight"), required=False, initial="1", widget=numbers
        )
        self.fields[f"mix_{row}_text"] = lines_field(
            _("Text of script %(number)s") % {"number": row + 1},
            _("It is used by this run only, and not added to the library"),
        )

    def _fill(self, chosen: list[dict[str, str]]) -> None:
        """Show the cloned run's scripts: a single one in `builtin`, several in the rows."""
        one = chosen[0] if len(chosen) == 1 else {}
        if one.get("value") and one["weight"] == "1":
            self.initial["builtin"] = one["value"]
        elif chosen:
            self.initial["builtin"] = None
            for row, script in enumerate(chosen):
                for part in ("value", "weight", "text"):
                    self.initial[f"mix_{row}_{part}"] = script.get(part)
        if isinstance(variables := self.initial.get("variables"), dict):
            self.initial["variables"] = written(variables)

    @property
    def mix(self) -> list[tuple[BoundField, BoundField, BoundField]]:
        """The script, weight and text field of each row."""
        return [
            (self[f"mix_{row}_value"], self[f"mix_{row}_weight"], self[f"mix_{row}_text"]) for row in range(self.rows)
        ]

    @property
    def mix_is_open(self) -> bool:
        """True if a row or variable is set or invalid, so that the section is unfolded."""
        values = (self[name].value() for name in self.fields if name.startswith("mix_") and not name.endswith("weight"))
        rows = any(one not in (None, "", self.rows, str(self.rows)) for one in values)
        return bool(self.rows) and (
            rows
            or bool(self["variables"].value())
            or any(name.startswith(("mix_", "variables")) for name in self.errors)
        )

    def typed_scripts(self) -> TypedScripts:
        """Return the raw options `builtin`, `scripts` and `variables`; filled rows replace `builtin`."""
        if not self.rows:
            return {}
        rows = list(self._rows_typed())
        if not rows and (alone := self.cleaned_data.get("builtin")):
            rows = [{"value": alone, "weight": "1"}]
        builtins = [_weighed(row) for row in rows if "text" not in row and not row["value"].startswith("version:")]
        scripts = [_script(row) for row in rows if "text" in row or row["value"].startswith("version:")]
        return {
            "builtin": builtins or None,
            "scripts": scripts or None,
            "variables": self._variables_typed(),
        }

    def _rows_typed(self) -> Iterator[dict[str, str]]:
        for row in range(self.rows):
            parts = (f"mix_{row}_{part}" for part in ("value", "weight", "text"))
            value, weight, text = (self.cleaned_data.get(name) or "" for name in parts)
            if text.strip():
                self._check_row(row, value, text)
                yield {"text": text, "weight": weight or "1"}
            elif value:
                yield {"value": value, "weight": weight or "1"}

    def _check_row(self, row: int, value: str, text: str) -> None:
        try:
            script_gate.check(text)
        except script_gate.ScriptRefused as error:
            self.add_error(f"mix_{row}_text", str(error))
        if value:
            self.add_error(f"mix_{row}_text", _("this row has a chosen script and a text: leave one of them empty"))

    def _variables_typed(self) -> dict[str, int | float | str] | None:
        try:
            return read(self.cleaned_data.get("variables") or "")
        except ValueError as error:
            self.add_error("variables", str(error))
            return None

    def add_errors(self, errors: Mapping[str, list[str]]) -> None:
        """Add the errors; leave out that of `scripts` if a row already shows it."""
        shown_by_row = any(name.startswith("mix_") for name in self.errors)
        super().add_errors(
            {name: messages for name, messages in errors.items() if name != "scripts" or not shown_by_row}
        )


class _LinesField(forms.CharField):
    """Multi-line text with LF line ends: browsers send CR LF."""

    def to_python(self, value: object) -> str:
        return str(super().to_python(value) or "").replace("\r\n", "\n")


def lines_field(label: "StrOrPromise", help_text: "StrOrPromise") -> forms.CharField:
    """Return an optional field of multi-line text whose white space is kept."""
    attrs = {"rows": 3, "spellcheck": "false", "autocomplete": "off", "class": "pd-mono"}
    return _LinesField(
        label=label, help_text=help_text, required=False, strip=False, widget=forms.Textarea(attrs=attrs)
    )


def script_text_field(label: "StrOrPromise", help_text: "StrOrPromise") -> forms.CharField:
    """Return the required field of a script's text."""
    attrs = {"rows": 18, "spellcheck": "false", "autocomplete": "off", "class": "pd-mono script-text", "wrap": "off"}
    return _LinesField(label=label, help_text=help_text, strip=False, widget=forms.Textarea(attrs=attrs))


def _choice(label: str, choices: list[Any], *, initial: str = "", help: str = "") -> forms.ChoiceField:
    return forms.ChoiceField(label=label, choices=choices, required=False, initial=initial, help_text=help)


def _weighed(row: dict[str, str]) -> str:
    return row["value"] if row["weight"] == "1" else f"{row['value']}@{row['weight']}"


def _script(row: dict[str, str]) -> dict[str, str]:
    if "text" in row:
        return row
    return {"script_version": row["value"].removeprefix("version:"), "weight": row["weight"]}


def read(lines: str) -> dict[str, int | float | str]:
    """Parse variables from lines such as `rows = 10` or `city = 'Oslo'`; raise ValueError naming an invalid line."""
    found: dict[str, int | float | str] = {}
    for number, line in enumerate(lines.split("\n"), start=1):
        if not line.strip():
            continue
        if not (assigned := _ASSIGNED.fullmatch(line)):
            text = _("line %(number)s is %(line)r: write a name, =, and a number or text in quotes")
            raise ValueError(text % {"number": number, "line": line.strip()})
        found[assigned["name"]] = (
            assigned["text"] if assigned["number"] is None else _number(number, assigned["number"])
        )
    return found


def _number(line: int, typed: str) -> int | float:
    try:
        return int(typed) if re.fullmatch(r"[+-]?[0-9]{1,20}", typed) else float(typed)
    except ValueError:
        text = _("line %(number)s: %(typed)r is not a number: put text in single quotes")
        raise ValueError(text % {"number": line, "typed": typed}) from None


def written(variables: Mapping[str, int | float | str]) -> str:
    """Format variables as the lines that `read` parses."""
    return "\n".join(f"{name} = {_quoted(value)}" for name, value in variables.items())


def _quoted(value: int | float | str) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)

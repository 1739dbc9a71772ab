"""Takes secrets out of what a pooler's console shows: the operator's own settings may hold some."""

import re
from collections.abc import Iterable, Mapping

VALUES = ("value", "default")  # PgBouncer's and Pgpool-II's rows have values in these columns
MASK = "••••"
NAMED = re.compile(r"(?i)password|passwd|authkey|secret")
WITHIN = re.compile(r"""(?i)(\w*(?:passw(?:or)?d|authkey|secrets?)["']?\s*[=:]\s*)("[^"]*"?|'[^']*'?|\S+)""")


def mask_rows(rows: Iterable[Mapping[str, object]]) -> list[dict[str, object]]:
    """Return the rows of a SHOW command with dots for secrets; settings are rows of `key` (or `item`) and `value`."""
    return [_mask_row(row, str(row.get("key") or row.get("item") or "")) for row in rows]


def mask_values(values: Mapping[str, str]) -> dict[str, str]:
    """Return the values of settings by name with dots for secrets."""
    return {name: _mask(name, value) for name, value in values.items()}


def _mask_row(row: Mapping[str, object], setting: str) -> dict[str, object]:
    return {
        column: _mask(setting if column in VALUES else "", text) if isinstance(text, str) else text
        for column, text in row.items()
    }


def _mask(setting: str, text: str) -> str:
    """Return dots for the value of a setting that is named as a secret, else the value with dots for those within."""
    if text and NAMED.search(setting):
        return MASK
    return WITHIN.sub(rf"\1{MASK}", text)

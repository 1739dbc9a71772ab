"""What the commands print: tables for people, JSON for programs."""

import json
from collections.abc import Sequence

import click

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print columns as wide as their widest cell."""
    texts = [list(head), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[at]) for row in texts) for at in range(len(head))]
    for row in texts:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def print_json(found: object) -> None:
    """Print JSON that people can read too."""
    click.echo(json.dumps(found, indent=2, ensure_ascii=False))


def figure(value: float | None) -> str:
    """Return a figure with three digits, or a whole number from 100 on; a dash where there is none."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"

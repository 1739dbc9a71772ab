"""The command line: the client's commands from click, those of manage.py from argparse."""

import argparse
from collections.abc import Iterator

import click
from django.core.management import get_commands, load_command_class

from panel.command_line import pooldeck
from panel.quickstart.__main__ import command_line
from reference.places import ROOT
from reference.tables import code, plain, table

OF_EVERY_COMMAND = {"help", "version", "verbosity", "settings", "pythonpath", "traceback", "no_color", "force_color"}
SCRIPTS = ("up", "install", "docs", "test", "check")
OURS = ("core.", "panel", "pools", "benchmarks")


def client() -> str:
    """Return a section for each command of `pooldeck`."""
    commands = sorted(pooldeck.commands.items())
    return "\n".join(
        _of_click(name, command) for name, command in commands if name != "demo"
    )  # The wheel adds this one.


def _of_click(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"pooldeck {name}")
    rows = [
        (code(", ".join(one.opts) + (f" {one.make_metavar(context)}" if not one.is_flag else "")), _told(one))
        for one in command.params
        if isinstance(one, click.Option)
    ]
    usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
    parts = [f"### pooldeck {name}", plain(" ".join((command.help or "").split())), f"```text\n{usage}\n```"]
    return "\n\n".join([*parts, table(("Option", "Meaning"), rows) if rows else ""])


def _told(option: click.Option) -> str:
    default = f" Default: `{option.default}`." if option.show_default and option.default else ""
    text = option.help or ""
    return plain(text if text.endswith((".", "…")) or not text else f"{text}.") + default


def management() -> str:
    """Return a section for each of the panel's own commands of manage.py."""
    ours = sorted(name for name, app in get_commands().items() if str(app).startswith(OURS))
    return "\n".join(_of_django(name) for name in ours)


def _of_django(name: str) -> str:
    command = load_command_class(get_commands()[name], name)
    parser = command.create_parser("manage.py", name)
    usage = " ".join(word for word in [f"python manage.py {name}", *_shown(parser)])
    parts = [f"### manage.py {name}", plain(command.help), f"```text\n{usage}\n```", _arguments(parser)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _own(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        if action.dest not in OF_EVERY_COMMAND | {"skip_checks"} and action.help != argparse.SUPPRESS:
            yield action


def _shown(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in _own(parser):
        written = _written(action)
        yield written if action.required else f"[{written}]"


def _written(action: argparse.Action) -> str:
    value = action.metavar or action.dest.upper()
    if not action.option_strings:
        return str(value)
    return action.option_strings[-1] + ("" if action.nargs == 0 else f" {value}")


def _arguments(parser: argparse.ArgumentParser) -> str:
    rows = [(code(_written(action)), plain(action.help or "")) for action in _own(parser)]
    return table(("Argument", "Meaning"), rows) if rows else ""


def scripts() -> str:
    """Return what a checkout's scripts do, as their first lines say, and the options of script/up."""
    sections = [f"### script/{name}\n\n{_head_of(name)}\n" for name in SCRIPTS]
    return "\n".join([*sections, f"`script/up` takes:\n\n{_arguments(command_line())}"])


def _head_of(name: str) -> str:
    lines = (ROOT / "script" / name).read_text().splitlines()[1:]
    head = [
        line.removeprefix("#").rstrip() for line in lines[: next(i for i, line in enumerate(lines) if line[:1] != "#")]
    ]
    text = " ".join(line.strip() for line in head if not line.startswith("   "))
    usage = "\n".join(line.strip() for line in head if line.startswith("   "))
    return plain(text) + (f"\n\n```text\n{usage}\n```" if usage else "")

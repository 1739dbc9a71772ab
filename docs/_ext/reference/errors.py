"""The errors that name their remedy, as they stand in the code."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from reference.places import ROOT
from reference.tables import plain, table

GETTEXT = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext"}
ROOMS = {
    "benchmarks/analysis": "Comparisons",
    "benchmarks/api": "Requests about runs and experiments",
    "benchmarks/engines": "Load programs",
    "benchmarks/experiments": "Experiments and playbooks",
    "benchmarks/forms": "Forms of runs and experiments",
    "benchmarks/generators": "Generators",
    "benchmarks/library": "Scripts and settings profiles",
    "benchmarks/processes": "Sandbox of scripts",
    "benchmarks/runs": "Runs",
    "benchmarks/targets": "Endpoints and datasets",
    "core": "Logins, tokens and requests",
    "panel": "The panel",
    "pools/advice": "Advice",
    "pools/api": "Requests about clusters, poolers and pools",
    "pools/clusters": "Clusters",
    "pools/config_files": "Configuration files",
    "pools/connection_strings": "Connection strings",
    "pools/console": "Commands of the console",
    "pools/deployment": "Applying a configuration",
    "pools/forms": "Forms of clusters, poolers and pools",
    "pools/hosts": "Hosts by SSH",
    "pools/inventory": "Budget, entries and shelf",
    "pools/managed_api": "The API of a managed provider",
    "pools/monitoring": "Monitoring",
    "pools/poolers": "Poolers",
    "pools/provisioning": "Roles and databases",
}
VERBS = (
    "add|allow|append|ask|change|check|chmod|choose|close|compare|correct|create|delete|double|drop|end|enter|flatten|free|"
    "give|grant|install|leave|let|lower|make|move|name|paste|prepare|print|put|raise|register|reload|remove|repeat|restart|"
    "restore|resume|run|save|see|send|set|start|stop|take|try|turn|type|unpack|upload|use|wait|write"
)
REMEDY = re.compile(rf"^(?P<problem>[^:;]+?)[:;,] (?:so |or )?(?P<remedy>(?:{VERBS}) .+)$", re.DOTALL)
PLACEHOLDER = re.compile(r"%\((\w+)\)[\w.]+|%[sdg]")


def errors() -> str:
    """Return a table of problems and remedies for each part of the panel."""
    rows: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for path, text in _texts():
        if (found := REMEDY.match(text)) and found["problem"].count("(") == found["problem"].count(")"):
            rows[_heading(path)].add((found["problem"], found["remedy"]))
    return "\n".join(
        f"## {heading}\n\n"
        + table(
            ("What the error says", "What to do"), ([_shown(text) for text in row] for row in sorted(rows[heading]))
        )
        for heading in sorted(rows)
    )


def _texts() -> Iterator[tuple[str, str]]:
    """Yield the texts of errors with the path of their module; an error begins in lower case or with a value."""
    for room in ("core", "panel", "pools", "benchmarks"):
        for path in sorted((ROOT / room).rglob("*.py")):
            yield from ((str(path.relative_to(ROOT)), text) for text in _texts_of(path))


def _texts_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in GETTEXT and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str) and not first.value[:1].isupper():
                yield first.value


def _heading(path: str) -> str:
    first, _, rest = path.partition("/")
    room = f"{first}/{rest.partition('/')[0].removesuffix('.py')}"
    return (
        ROOMS.get(room)
        or ROOMS.get(first)
        or ("Clusters, poolers and pools" if first == "pools" else "Runs and experiments")
    )


def _shown(text: str) -> str:
    """Return the text with a value's name in place of each value."""
    parts, at = [], 0
    for found in PLACEHOLDER.finditer(text):
        parts += [plain(text[at : found.start()]), f"*{(found.group(1) or 'value').replace('_', ' ')}*"]
        at = found.end()
    return "".join([*parts, plain(text[at:])])

"""Programs that the panel starts get an environment that was chosen for them: its own holds keys and passwords."""

import ast
from collections.abc import Iterator

from tests.installation import ROOT

STARTING = {"run", "Popen", "call", "check_call", "check_output"}
# These start in the environment of their caller, for a reason.
INHERITING = {
    "benchmarks/load_programs/jmeter_results.py": "it is a load's own child, in the few variables of a load",
    "panel/quickstart/page_files.py": "it is a command of the panel itself",
}


def starts() -> Iterator[tuple[str, ast.Call]]:
    """Yield each place in the source that starts a program by `subprocess`."""
    for folder in ("benchmarks", "core", "panel", "pools"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and _is_start(node.func):
                    yield str(path.relative_to(ROOT)), node


def _is_start(called: ast.expr) -> bool:
    if not isinstance(called, ast.Attribute) or not isinstance(called.value, ast.Name):
        return False
    return called.value.id == "subprocess" and called.attr in STARTING


def test_each_program_is_started_with_an_environment_of_its_own() -> None:
    found = list(starts())
    inheriting = {place for place, call in found if "env" not in {word.arg for word in call.keywords}}
    assert inheriting == set(INHERITING)
    assert len({place for place, _call in found if place.startswith("pools/")}) >= 6  # those of poolers and hosts


def test_none_is_given_the_whole_environment() -> None:
    given = {
        (place, ast.unparse(word.value)) for place, call in starts() for word in call.keywords if word.arg == "env"
    }
    assert [(place, text) for place, text in sorted(given) if "os.environ" in text or text == "None"] == []


def test_the_rule_finds_a_start_without_one() -> None:
    plain = ast.parse("import subprocess\nsubprocess.run(['true'])").body[1]
    assert isinstance(plain, ast.Expr)
    assert isinstance(plain.value, ast.Call)
    assert _is_start(plain.value.func)

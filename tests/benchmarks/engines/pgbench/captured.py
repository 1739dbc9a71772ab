"""The outputs that capture.py took from real runs of pgbench: one file each, `outputs/MAJOR/CASE.txt`."""

from dataclasses import dataclass
from pathlib import Path

OUTPUTS = Path(__file__).parent / "outputs"
_STDOUT, _STDERR, _EXIT = "--- stdout\n", "--- stderr\n", "--- exit code "


@dataclass(frozen=True)
class Captured:
    """What one real execution printed on each stream, and how it left."""

    command: str
    stdout: str
    stderr: str
    exit_code: int

    def write(self, path: Path) -> None:
        """Keep it as text that people can read."""
        path.parent.mkdir(parents=True, exist_ok=True)
        streams = f"{_STDOUT}{self.stdout}{_STDERR}{self.stderr}"
        path.write_text(f"$ {self.command}\n{streams}{_EXIT}{self.exit_code}\n", newline="")


def read(path: Path) -> Captured:
    """The same back."""
    command, rest = path.read_bytes().decode().split("\n", 1)
    stdout, rest = rest.removeprefix(_STDOUT).split(_STDERR)
    stderr, exit_code = rest.split(_EXIT)
    return Captured(command.removeprefix("$ "), stdout, stderr, int(exit_code))


def paths(case: str = "*") -> list[Path]:
    """The files of one case, or of all."""
    return sorted(OUTPUTS.glob(f"*/{case}.txt"))

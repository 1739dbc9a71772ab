"""The command of a program, and the names of the files in its private home."""

from dataclasses import dataclass, field

# Names of files in the private home of a run. The last file has the process id of an engine's service.
PASSFILE, ROOT_CERTIFICATE, SERVICE_PID = "pgpass", "root.crt", "service.pid"


@dataclass(frozen=True, slots=True)
class Command:
    """A program to start: its words, its whole environment (neither holds a password), and the files it reads.

    `files` are names in the run's private home and their texts, written there before the start. A `confined` program
    has a user's script among them: it runs in a sandbox, where it reaches the network, these `sockets`, and the files
    and folders that it `reads`. Where a program of the panel starts it, its words begin at `confined_at`. `shown` are
    the words to show to people, where they differ.
    """

    argv: list[str]
    env: dict[str, str]
    files: dict[str, str] = field(default_factory=dict)
    confined: bool = False
    confined_at: int = 0
    sockets: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    shown: list[str] | None = None

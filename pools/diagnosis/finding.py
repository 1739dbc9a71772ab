"""What a cause says of a pool: one sentence that names it, and one on what to do."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """The sentence with its remedy; `pids` are the sessions to end, where ending them would help."""

    sentence: str
    remedy: str
    pids: tuple[int, ...] = ()

"""Whether the generators that a run is aimed at have the file that it needs of their hosts."""

from collections.abc import Sequence
from typing import Any

from benchmarks.errors import InvalidOptions
from benchmarks.generators import host_files, registry, selection


def check(engine: str, options: dict[str, Any], generators: Sequence[str] = ()) -> None:
    """Refuse a file that one of those named, or each that lives, lacks or must not use; raises `InvalidOptions`.

    One that has not told is believed: it looks at the file again before it starts.
    """
    need = host_files.needed(engine, options)
    if need is None:
        return
    named = {name.strip() for name in generators} - {selection.ANY, ""}
    found = [one for one in registry.known_or_remembered()[0] if one.alive is not False]
    aimed = [one for one in found if (one.name in named if named else not one.lacks(engine))]
    faults = [fault for one in aimed if (fault := host_files.wrong_with(one, need))]
    if faults and (named or len(faults) == len(aimed)):
        raise InvalidOptions({need.option: faults})

"""Where a run is carried out from, and whether beside others, as it was asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.generators import selection


@dataclass(frozen=True)
class Placement:
    """The generators named (none: any), and whether to start although others run there or on the target."""

    generators: Sequence[str] = ()
    alongside: bool = False

    def fields(self, engine: str, purpose: str) -> dict[str, Any]:
        """The run's columns; raises `InvalidGenerators` where a generator can't carry it, and `QueueDown`."""
        names = selection.checked(self.generators, engine, purpose)
        bound_to = names[0] if len(names) == 1 else ""
        return {"wanted_generators": names, "generator": bound_to, "alongside": self.alongside}


ANYWHERE = Placement()

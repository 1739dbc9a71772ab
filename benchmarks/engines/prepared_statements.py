"""How a load program is told to prepare its statements by the protocol, which not every pool can carry."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PreparingOption:
    """The option `name`: with `value` the load prepares its statements, with `instead` it does not."""

    name: str
    value: str
    instead: str

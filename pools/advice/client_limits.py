"""What a pooler lets its clients do, by its release and by the settings that it has now."""

from dataclasses import dataclass

from pools.models import Pooler
from pools.poolers import KINDS, live_settings, settings_schema
from pools.poolers.settings_schema import Scope, Version

KEEPS_PREPARED: Version = (1, 21)  # follows statements that the protocol prepares, up to max_prepared_statements
TRACKS_REPORTED: Version = (1, 26)  # keeps for each client whatever its server reports (PgBouncer's NEWS)
IGNORED, TRACKED = "ignore_startup_parameters", "track_extra_parameters"


@dataclass(frozen=True)
class ClientLimits:
    """The limits and parameters that a PgBouncer accepts; names of parameters are in lower case.

    `ignored` are the start-up parameters that it accepts without effect (None: unknown, since its console did not
    answer), `tracked` those that it keeps for each client beside the usual ones, where the server reports them.
    `checks_startup` is False for a program that hands every start-up parameter on.
    """

    version: Version
    max_prepared: int = 0
    ignored: frozenset[str] | None = None
    tracked: frozenset[str] = frozenset()
    checks_startup: bool = True
    auth_type: str = ""

    @property
    def keeps_prepared(self) -> bool:
        """True if statements prepared by the protocol outlive a transaction."""
        return self.version >= KEEPS_PREPARED and self.max_prepared > 0

    def keeps(self, parameter: str, *, reported: bool) -> bool:
        """Return whether a SET of this parameter stays with its client; `reported`: the server reports its changes."""
        return reported and (self.version >= TRACKS_REPORTED or parameter.lower() in self.tracked)


def of(pooler: Pooler) -> ClientLimits:
    """Ask the console; where it does not answer, go by what the panel sets, else by the release's defaults."""
    kind = KINDS[pooler.kind]
    version = kind.version_of(pooler.server_version)
    defaults = {one.name: one.default for one in settings_schema.shown(kind.catalog, Scope.PROGRAM, version)}
    live = live_settings.read(pooler)
    known = live or {name: str(value) for name, value in pooler.settings.items()}
    found = {name: known.get(name, default) for name, default in defaults.items()}
    return ClientLimits(
        version=version,
        max_prepared=int(found.get("max_prepared_statements") or 0),
        ignored=_names(found.get(IGNORED, "")) if live or IGNORED in known else None,
        tracked=_names(found.get(TRACKED, "")),
        checks_startup=IGNORED in defaults,
        auth_type=found.get("auth_type", ""),
    )


def _names(listed: str) -> frozenset[str]:
    return frozenset(name.strip().lower() for name in listed.split(",") if name.strip())

"""What the states of clusters, poolers, pools, revisions and runs look like and mean, one sentence each."""

from dataclasses import dataclass


@dataclass(frozen=True)
class StateWords:
    """A badge: the colour's name in the design library, the sentence in its tooltip, whether it moves."""

    colour: str
    meaning: str
    moving: bool = False
    verified: bool = False  # a tick: read back, never assumed


UNKNOWN_STATE = StateWords("secondary", "")
STATES = {
    "unknown": StateWords("secondary", "Nobody has checked it yet"),
    "online": StateWords("green", "The last check logged in", verified=True),
    "unreachable": StateWords("red", "The last check could not log in"),
    "pending": StateWords("azure", "Saved here; not live on the pooler yet", moving=True),
    "applied": StateWords("green", "Live: read back from the pooler and logged in through", verified=True),
    "rolled_back": StateWords("orange", "The pooler did not take it, so its old configuration was put back"),
    "failed": StateWords("red", "It could not be done; the reason is on its page"),
    "drifted": StateWords("orange", "The pooler no longer has what the panel applied"),
    "paused": StateWords("orange", "Its clients are held back until it is resumed"),
    "disabled": StateWords("orange", "New clients are refused until it is enabled"),
    "node_up": StateWords("green", "Pgpool-II sends queries there"),
    "node_down": StateWords("red", "Pgpool-II sends no queries there until it is attached"),
    "removing": StateWords("azure", "Being taken off the pooler", moving=True),
    "alive": StateWords("green", "Its worker was heard within the last 15 seconds"),
    "gone": StateWords("red", "Its worker was not heard for a while"),
    "queued": StateWords("secondary", "Waits for a free generator", moving=True),
    "starting": StateWords("azure", "A generator took it", moving=True),
    "running": StateWords("azure", "The load is on", moving=True),
    "succeeded": StateWords("green", "The program ended by itself with exit code 0"),
    "cancelled": StateWords("secondary", "Somebody stopped it"),
    "timed_out": StateWords("orange", "It did not end in time and was stopped"),
    "lost": StateWords("red", "Its generator went away"),
    "warning": StateWords("orange", "It crossed its threshold and holds"),
    "critical": StateWords("red", "It crossed its threshold and holds; look at it soon"),
    "event_closed": StateWords("secondary", "It is over"),
    "valid": StateWords("green", "The figures passed every check", verified=True),
    "suspect": StateWords("orange", "A check of the figures failed: do not compare them"),
    "gate_passed": StateWords("green", "Its valid figures reach all its thresholds"),
    "gate_failed": StateWords("red", "A threshold was not reached, or the figures are not valid"),
    "incomplete": StateWords("secondary", "It ended early: the figures are partial"),
}

# The steps of pools.deployment that deserve a tick.
PROOFS = frozenset({"rehearsed", "read back", "logged in", "rolled back"})

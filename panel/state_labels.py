"""Color, label and meaning of every state of clusters, poolers, pools, revisions and runs."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True)
class StateWords:
    """A badge: the color's name in the design library, its text, the sentence in its tooltip, whether it moves."""

    color: str
    label: str | Promise
    meaning: str | Promise
    moving: bool = False
    verified: bool = False  # a tick: read back, never assumed


UNKNOWN_STATE = StateWords("secondary", "", "")
STATES = {
    "unknown": StateWords("secondary", _("unknown"), _("Not checked yet")),
    "online": StateWords("green", _("online"), _("The last check logged in"), verified=True),
    "stopped": StateWords("secondary", _("not started"), _("Its main file is there, and no process was seen with it")),
    "unreachable": StateWords("red", _("unreachable"), _("The last check could not log in")),
    "unconfirmed": StateWords("orange", _("key not confirmed"), _("Nobody has confirmed the key of this host yet")),
    "pending": StateWords("azure", _("pending"), _("Saved here; not live on the pooler yet"), moving=True),
    "applied": StateWords(
        "green", _("applied"), _("Live: read back from the pooler and logged in through"), verified=True
    ),
    "rolled_back": StateWords(
        "orange", _("rolled back"), _("The pooler rejected it, so its previous configuration was restored")
    ),
    "failed": StateWords("red", _("failed"), _("It failed; the reason is on its page")),
    "failing": StateWords(
        "red", _("failing"), _("It was applied, but clients can’t use it now; it is tried again by itself")
    ),
    "drifted": StateWords("orange", _("drifted"), _("The pooler no longer has what the panel applied")),
    "checking": StateWords("azure", _("checking"), _("Its console is being asked"), moving=True),
    "watched": StateWords("secondary", _("watched"), _("Known by its console alone; the panel changes nothing of it")),
    "unmanaged": StateWords(
        "secondary", _("not managed here"), _("The pooler has it; the panel shows it and never changes it")
    ),
    "saturated": StateWords("orange", _("saturated"), _("Clients wait, and all server connections are in use")),
    "waiting": StateWords("orange", _("clients wait"), _("Clients wait for a server connection")),
    "ok": StateWords("green", _("nobody waits"), _("No client waits for a server connection")),
    "paused": StateWords("orange", _("paused"), _("Its clients are held back until it is resumed")),
    "disabled": StateWords("orange", _("disabled"), _("New clients are refused until it is enabled")),
    "node_up": StateWords("green", _("up"), _("Pgpool-II sends queries there")),
    "node_down": StateWords("red", _("down"), _("Pgpool-II sends no queries there until it is attached")),
    "removing": StateWords("azure", _("removing"), _("Being removed from the pooler"), moving=True),
    "creating": StateWords("azure", _("creating"), _("The operator’s command creates it"), moving=True),
    "deleting": StateWords("azure", _("deleting"), _("The operator’s command deletes it"), moving=True),
    "not_deleted": StateWords("red", _("not deleted"), _("The operator’s command did not delete it")),
    "alive": StateWords("green", _("alive"), _("Its worker sent a heartbeat within the last 15 seconds")),
    "gone": StateWords("red", _("gone"), _("Its worker has not sent a heartbeat lately")),
    "claimed": StateWords("azure", _("starting"), _("Its time has come, and it is being started"), moving=True),
    "started": StateWords("green", _("started"), _("It was started at its time; the link leads to what came of it")),
    "missed": StateWords("orange", _("missed"), _("Nothing was started at this time; the reason is beside it")),
    "queued": StateWords("secondary", _("queued"), _("Waits for a free generator"), moving=True),
    "starting": StateWords("azure", _("starting"), _("A generator has taken it"), moving=True),
    "running": StateWords("azure", _("running"), _("The load is running"), moving=True),
    "succeeded": StateWords("green", _("succeeded"), _("The program ended by itself with exit code 0")),
    "cancelled": StateWords("secondary", _("cancelled"), _("It was cancelled")),
    "timed_out": StateWords("orange", _("timed out"), _("It did not end in time and was stopped")),
    "lost": StateWords("red", _("lost"), _("Its worker was lost before the load ended")),
    "warning": StateWords("orange", _("warning"), _("It has crossed its warning threshold")),
    "critical": StateWords("red", _("critical"), _("It has crossed its critical threshold")),
    "event_closed": StateWords("secondary", _("closed"), _("It is over")),
    "valid": StateWords("green", _("valid"), _("The figures passed every check"), verified=True),
    "suspect": StateWords("orange", _("suspect"), _("A check of the figures failed: do not compare them")),
    "gate_passed": StateWords("green", _("passed"), _("Its figures are valid and meet all its thresholds")),
    "gate_failed": StateWords("red", _("failed"), _("A threshold was not met, or the figures are not valid")),
    "approval_pending": StateWords("orange", "", _("Waits for a second person")),
    "approval_approved": StateWords(
        "azure", "", _("A second person approved it; it runs, or was cut short"), moving=True
    ),
    "approval_done": StateWords("green", "", _("A second person approved it, and it was done")),
    "approval_failed": StateWords("red", "", _("A second person approved it, and it failed")),
    "approval_rejected": StateWords("secondary", "", _("A second person rejected it; nothing was done")),
    "approval_withdrawn": StateWords("secondary", "", _("Who asked for it withdrew it; nothing was done")),
    "approval_stale": StateWords("secondary", "", _("What it is about changed meanwhile; nothing was done")),
    "approval_expired": StateWords("secondary", "", _("Nobody decided in time; nothing was done")),
    "incomplete": StateWords("secondary", _("incomplete"), _("It ended early: the figures are partial")),
}

# Names of steps in revisions whose label differs.
STEPS = {"preflight passed": _("tested on a trial instance")}
# The steps of pools.deployment that deserve a tick.
PROOFS = frozenset({"preflight passed", "read back", "logged in", "rolled back"})

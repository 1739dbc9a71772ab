"""States of the records, with what the badges on pages say of each."""

import inspect

from django.db.models import TextChoices

from benchmarks.models import ExperimentState, Status, Validity
from panel.state_labels import STATES
from pools.config_files.deliveries import DELIVERIES
from pools.models import ClusterState, PoolerState, PoolState, RevisionState
from pools.models.hosts import HostState
from pools.models.poolers import Management, ProcessState
from pools.models.take_overs import TakeOverState
from reference.tables import code, plain, table

OF_RECORDS: dict[str, type[TextChoices]] = {
    "Clusters and nodes": ClusterState,
    "Poolers": PoolerState,
    "Processes of a pooler": ProcessState,
    "Who writes a pooler's files": Management,
    "Take-overs": TakeOverState,
    "Hosts": HostState,
    "Pools": PoolState,
    "Revisions": RevisionState,
    "Runs": Status,
    "Figures of a run": Validity,
    "Experiments": ExperimentState,
}
# by class, where a state has no badge, or another record's badge has the same name
MEANINGS: dict[type[TextChoices], dict[str, str]] = {
    Management: {"managed": "The panel writes its files; what it applies is read back"},
    TakeOverState: {
        "asked": "A person asked for it; a worker will begin",
        "taking": "A worker writes the files and compares the console before and after",
        "taken": "The panel manages the pooler; its original files are kept",
        "refused": "Something differed, so that the old bytes were put back; the pooler’s page has the reason",
        "leaving": "A person asked to let it go; a worker will begin",
        "releasing": "A worker gives the files back their bytes",
        "released": "The pooler is watched again, with its history",
    },
    RevisionState: {
        "pending": "Its apply has not ended",
        "applied": "Written, reloaded, read back and logged in through",
    },
    ExperimentState: {
        "queued": "Waits for the experiments of its cluster before it",
        "running": "Its runs are made, one block after the other",
        "succeeded": "All of its runs have ended, and its arms are compared",
    },
    Status: {"failed": "The program ended with an error, or could not be started; the reason is on its page"},
}


def states() -> str:
    """Return a section for each record."""
    return "\n".join([*(_section(heading, choices) for heading, choices in OF_RECORDS.items()), _deliveries()])


def _deliveries() -> str:
    rows = [(code(name), plain(_sentence(str(one.label)))) for name, one in DELIVERIES.items()]
    return f"## How files reach a managed pooler\n\n{table(('In the API', 'Meaning'), rows)}"


def _section(heading: str, choices: type[TextChoices]) -> str:
    rows = [(code(choice.value), _meaning(choice)) for choice in choices]
    told = inspect.getdoc(choices) or ""
    return f"## {heading}\n\n{plain(told)}\n\n{table(('In the API', 'Meaning'), rows)}"


def _meaning(choice: TextChoices) -> str:
    words, label = STATES.get(choice.value), str(choice.label)
    of_badge = str(words.meaning) if words else _sentence(label)
    return plain(MEANINGS.get(type(choice), {}).get(choice.value, of_badge))


def _sentence(label: str) -> str:
    return label[:1].upper() + label[1:]

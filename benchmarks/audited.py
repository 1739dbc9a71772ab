"""What the audit trail follows of runs and of what they are made from."""

from benchmarks.models import (
    AppliedProfile,
    Ceiling,
    Dataset,
    Experiment,
    ExternalEndpoint,
    Generator,
    Playbook,
    Run,
    Script,
    ScriptVersion,
    SettingsProfile,
    SharedLink,
)
from core.audit.tracking import track

RUN = ("name", "purpose", "engine", "target_label", "database", "note", "is_baseline", "cancel_requested_at")
EXPERIMENT = ("playbook", "cluster_name", "quick", "repeats", "minutes", "wanted_blocks", "cancel_requested_at")

track(
    Run,
    "run",
    only=RUN,
    name="number",
    cluster="cluster_id",
    author="author__username",
    actions={"create": "run.start", "cancel_requested_at": "run.cancel"},
)
track(
    Experiment,
    "experiment",
    only=EXPERIMENT,
    name="number",
    cluster="cluster_id",
    author="author__username",
    actions={"create": "experiment.start", "cancel_requested_at": "experiment.cancel"},
)
track(Playbook, "playbook", never=["author"])
track(Script, "script")
track(
    ScriptVersion,
    "script",
    only=["number", "text"],
    path="script",
    author="author__username",
    actions={"create": "script.change", "delete": ""},
)
track(SettingsProfile, "profile", never=["author"])
track(
    AppliedProfile,
    "cluster",
    only=["values", "restored_at", "error"],
    path="cluster",
    cluster="cluster_id",
    actions={"create": "cluster.apply_profile", "change": "cluster.restore_settings", "delete": ""},
)
track(Ceiling, "ceiling", name="holder", cluster="cluster_id")
track(Generator, "generator", only=["name", "ssh_host_id"])
track(ExternalEndpoint, "external_endpoint", secrets=["sealed_password", "sealed_console_password"])
track(Dataset, "dataset", only=["database", "engine", "scale"], name="database", cluster="cluster_id")
track(
    SharedLink,
    "shared_link",
    only=["run_id", "experiment_id", "expires_at", "revoked_at"],
    name="pk",
    author="author__username",
    actions={"revoked_at": "shared_link.revoke"},
)

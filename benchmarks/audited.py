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
    Schedule,
    Script,
    ScriptVersion,
    SettingsProfile,
    SharedLink,
)
from core.audit.tracking import OptionsOfOwner, track

RUN = (
    "name",
    "purpose",
    "engine",
    "target_label",
    "database",
    "note",
    "is_baseline",
    "cancel_requested_at",
    "requested_rate",
    "requested_rate_stage",
)
EXPERIMENT = ("playbook", "cluster_name", "quick", "repeats", "minutes", "wanted_blocks", "cancel_requested_at")
OF_CLUSTER: OptionsOfOwner = {"cluster": "cluster_id", "team": ("cluster__team_id",)}

track(
    Run,
    "run",
    only=RUN,
    name="number",
    cluster="cluster_id",
    team=("external__team_id", "cluster__team_id", "team_id"),
    author="author__username",
    actions={
        "create": "run.start",
        "cancel_requested_at": "run.cancel",
        "requested_rate": "run.change_rate",
        "requested_rate_stage": "run.change_rate",
    },
)
track(
    Experiment,
    "experiment",
    only=EXPERIMENT,
    name="number",
    cluster="cluster_id",
    team=("cluster__team_id", "team_id"),
    author="author__username",
    actions={"create": "experiment.start", "cancel_requested_at": "experiment.cancel"},
)
track(Playbook, "playbook", never=["author"], team=("team_id",))
track(
    Schedule,
    "schedule",
    never=["author", "consented_by"],
    team=(
        "run__external__team_id",
        "run__cluster__team_id",
        "run__team_id",
        "experiment__cluster__team_id",
        "experiment__team_id",
    ),
    author="author__username",
)
track(Script, "script", team=("team_id",))
track(
    ScriptVersion,
    "script",
    only=["number", "text"],
    path="script",
    team=("script__team_id",),
    author="author__username",
    actions={"create": "script.change", "delete": ""},
    named_by=("number",),
)
track(SettingsProfile, "profile", never=["author"], team=("team_id",))
track(
    AppliedProfile,
    "cluster",
    only=["values", "restored_at", "error"],
    path="cluster",
    actions={"create": "cluster.apply_profile", "change": "cluster.restore_settings", "delete": ""},
    **OF_CLUSTER,
)
track(Ceiling, "ceiling", name="holder", **OF_CLUSTER)
track(Generator, "generator", only=["name", "ssh_host_id"])
track(
    ExternalEndpoint,
    "external_endpoint",
    secrets=["sealed_password", "sealed_console_password"],
    team=("team_id",),
)
track(Dataset, "dataset", only=["database", "engine", "scale"], name="database", **OF_CLUSTER)
track(
    SharedLink,
    "shared_link",
    only=["run_id", "experiment_id", "expires_at", "revoked_at"],
    name="pk",
    team=(
        "run__external__team_id",
        "run__cluster__team_id",
        "run__team_id",
        "experiment__cluster__team_id",
        "experiment__team_id",
    ),
    author="author__username",
    actions={"revoked_at": "shared_link.revoke"},
)

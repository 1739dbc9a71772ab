"""The keys of `Run.evidence`: settings, revision and hardware as they were when a load began."""

from collections.abc import Mapping
from typing import TypedDict


class SettingInForce(TypedDict):
    """A server setting that differs from PostgreSQL's default."""

    value: str
    unit: str
    source: str


class StatedMachine(TypedDict):
    """The server's machine as it was registered."""

    memory_mb: int | None
    vcpus: int | None
    disk_gb: int | None


class ServerEvidence(TypedDict, total=False):
    """The server; empty where no cluster is registered."""

    version: str
    settings: dict[str, SettingInForce]
    stated: StatedMachine


class PoolEvidence(TypedDict):
    """The pool that a load went through."""

    name: str
    mode: str
    size: int
    settings: Mapping[str, str]


class RevisionEvidence(TypedDict):
    """The applied configuration of a pooler."""

    id: str
    number: int


class PoolerEvidence(TypedDict, total=False):
    """The pooler of a pool, or what is known of an external endpoint, with the parameters of its URI."""

    name: str
    kind: str
    version: str
    pool: PoolEvidence
    revision: RevisionEvidence | None
    address: str
    sslmode: str


class MachineEvidence(TypedDict, total=False):
    """The machine that ran a load, as far as it tells."""

    host: str
    kernel: str
    processor: str
    cores: int | None
    memory_bytes: int | None


class RunEvidence(TypedDict, total=False):
    """The sources of a run's figures; a source that could not be read is absent."""

    server: ServerEvidence
    pooler: PoolerEvidence
    generator: MachineEvidence

"""Hosts that loads run on."""

from tests.live.pools.hosts.conftest import host, own_sshd, sshd  # noqa: F401 (fixtures)

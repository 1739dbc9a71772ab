"""Runs the operator's commands that create and delete clusters: many at once, supervised by one worker process.

No command is run twice for one request: where its worker dies, the request is settled as failed.
"""

import logging
import time
from datetime import timedelta
from uuid import uuid4

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from core.lib import database_clock
from pools.errors import ClusterUnreachable, InvalidValues, PoolsError
from pools.inventory import clusters, creations
from pools.inventory.create_file import CreateEntry
from pools.models import Cluster, ClusterCreation, CreationState
from pools.provisioning import hook_command, shelf_return
from pools.provisioning.hook_command import HookCommand, HookFailed

logger = logging.getLogger(__name__)

AT_ONCE = 8
LEASE = timedelta(seconds=90)  # longer than a step, which may wait for a login to each command's server
TAKEN_WITHIN = timedelta(minutes=10)
CLIENTS_WAIT = timedelta(minutes=30)  # The provider's clients wait as long.
LOGIN_WITHIN_S = 60.0
PAUSE_S = 0.2
RENEWED_EVERY_S = 5.0
LOGIN_EVERY_S = 2.0


def run_due() -> None:
    """Run the commands that are due until none is left; return at once while another worker supervises them."""
    _fail_abandoned()
    _fail_overdue()
    if not settings.CREATE_FILE or ClusterCreation.objects.running().exists():
        return
    commands: list[Command] = []
    try:
        while _advance(commands):
            time.sleep(PAUSE_S)
    finally:
        for command in commands:
            command.stop()


class Command:
    """The command of one request, from its start to what it made."""

    def __init__(self, creation: ClusterCreation, entry: CreateEntry) -> None:
        """Start it; raises `HookFailed`."""
        self.creation, self.entry = creation, entry
        self.values: clusters.ClusterValues = {}  # values of the created cluster, once the command has ended
        self._renewed = self._next_login = time.monotonic()
        self._login_until = 0.0
        is_create = creation.state == CreationState.CREATING
        self._hook = HookCommand(entry.command if is_create else entry.delete, _request(creation), entry.timeout_s)

    def goes_on(self) -> bool:
        """Do what can be done without waiting; return False once the request is settled."""
        self._renew()
        try:
            return self._step()
        except HookFailed as error:
            _fail(self.creation, str(error))
        except InvalidValues as error:  # the address or the login that the command printed
            faults = "; ".join(f"{name}: {one}" for name, messages in error.errors.items() for one in messages)
            _fail(self.creation, faults)
        except PoolsError as error:
            _fail(self.creation, str(error))
        except Exception:  # the other commands go on
            logger.exception("cluster %s: its command could not be supervised", self.creation.pk)
            self._hook.stop()
            _fail(self.creation, _("internal error: see the worker's log"))
        return False

    def stop(self) -> None:
        """End the command, because its worker can't go on: its request is settled once the lease is over."""
        self._hook.stop()

    def _step(self) -> bool:
        if not self.values:
            if not self._hook.has_ended():
                return True
            output = self._hook.output()
            if self.creation.state == CreationState.DELETING:
                _forget(self.creation)
                return False
            self.values, self._login_until = hook_command.created(output), time.monotonic() + LOGIN_WITHIN_S
        return not self._is_complete()

    def _is_complete(self) -> bool:
        """Log in and register the cluster; return False where the login failed, but is worth another try."""
        if time.monotonic() < self._next_login:
            return False
        self._next_login = time.monotonic() + LOGIN_EVERY_S
        try:
            cluster = creations.complete(self.creation, self.entry, self.values)
        except ClusterUnreachable as error:
            if time.monotonic() < self._login_until:
                return False
            found = {"host": self.values["host"], "port": self.values["port"], "error": error}
            text = _("the command made %(host)s:%(port)s, but the panel can't log in there: %(error)s")
            raise HookFailed(text % found) from None
        _created(self.creation, cluster)
        return True

    def _renew(self) -> None:
        if time.monotonic() >= self._renewed + RENEWED_EVERY_S:
            self._renewed = time.monotonic()
            leased = ClusterCreation.objects.filter(pk=self.creation.pk, token=self.creation.token)
            leased.update(leased_until=database_clock.after(LEASE))


def _advance(commands: list[Command]) -> bool:
    """Drop the commands that are settled, and start those that are due; return whether there are any."""
    for command in list(commands):
        if not command.goes_on():
            commands.remove(command)
    for creation in ClusterCreation.objects.queued()[: AT_ONCE - len(commands)]:
        if creation.lease(uuid4(), database_clock.after(LEASE)) and (started := _started(creation)):
            commands.append(started)
    return bool(commands)


def _started(creation: ClusterCreation) -> Command | None:
    try:
        entry = creations.entry_of(creation)
        if entry is None or (creation.state == CreationState.DELETING and not entry.delete):
            raise HookFailed(_("POOLDECK_CREATE_FILE has no command for it any more"))
        return Command(creation, entry)
    except (HookFailed, PoolsError) as error:
        _fail(creation, str(error))
        return None


def _request(creation: ClusterCreation) -> dict[str, object]:
    """Return the command's input: the client's request, and for a deletion the cluster's address."""
    request = {name: getattr(creation, name) for name in ("name", "size", "region", "version", "tags")}
    request |= {"id": creation.key, "num_nodes": creation.nodes}
    cluster = creation.cluster
    return request | ({"name": cluster.name, "host": cluster.host, "port": cluster.port} if cluster else {})


def _created(creation: ClusterCreation, cluster: Cluster | None) -> None:
    if cluster is None:
        logger.error("cluster %s was created, but its request had been settled: remove its server", creation.pk)
        return
    logger.info("cluster %s was created at %s:%s", cluster.pk, cluster.host, cluster.port)
    if ClusterCreation.objects.filter(pk=creation.pk).exclude(removal_requested_at=None).exists():
        shelf_return.give_back(cluster, creation.author)


def _forget(creation: ClusterCreation) -> None:
    """Remove the record of a cluster that its command has deleted."""
    if cluster := Cluster.objects.filter(pk=creation.pk).first():  # else a person removed the record meanwhile
        clusters.remove(cluster, author=creation.author)
    logger.info("cluster %s was deleted by its command", creation.pk)


def _fail(creation: ClusterCreation, reason: str) -> None:
    if creation.fail(reason):
        logger.warning("the command of cluster %s (%s) failed: %s", creation.pk, creation.name, reason)
    else:
        logger.error("cluster %s (%s), whose request was settled before: %s", creation.pk, creation.name, reason)


def _fail_abandoned() -> None:
    """Settle requests whose worker died."""
    for creation in ClusterCreation.objects.abandoned():
        _fail(creation, _("the worker ended while the command ran, so the server may be there in part"))


def _fail_overdue() -> None:
    """Settle requests that no worker took, before one runs a command that no client waits for any more."""
    if ClusterCreation.objects.running().exists():
        return
    overdue, limit = ClusterCreation.objects.queued(), TAKEN_WITHIN
    if settings.CREATE_FILE:
        overdue, limit = overdue.filter(state=CreationState.CREATING), CLIENTS_WAIT
    text = _("no worker with POOLDECK_CREATE_FILE took it within %(seconds)d s") % {"seconds": limit.total_seconds()}
    for creation in overdue.filter(requested_at__lt=timezone.now() - limit):
        _fail(creation, text)

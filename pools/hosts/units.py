"""Units of systemd on a host, which the panel starts where its account there may."""

from collections.abc import Mapping

from django.utils.translation import gettext as _

from pools.hosts.base import HostConnection, HostRefused

BY_SUDO = ("sudo", "-n")


def start(host: HostConnection, units: Mapping[str, str]) -> None:
    """Start units now and at each boot: name → the file that its command ends with.

    Raises `HostRefused` with what is in the way, and `HostUnreachable`.
    """
    for unit, file in units.items():
        _refuse_other(host, unit, file)
    command = ["systemctl", "enable", "--now", *units]
    if host.uid:
        if host.run([*BY_SUDO, "-l", *command]).exit_code:
            raise HostRefused(_("the panel's account there may start no units, by sudo either"))
        command = [*BY_SUDO, *command]
    done = host.run(command)
    if done.exit_code:
        raise HostRefused(_("systemctl refused it: %(reason)s") % {"reason": done.words})


def _refuse_other(host: HostConnection, unit: str, file: str) -> None:
    """Raise `HostRefused` for a unit that is not there, or that starts something else."""
    unit_facts = host.run(["systemctl", "show", "--property=LoadState,ExecStart", unit])
    if unit_facts.exit_code:
        raise HostRefused(_("systemd does not run there"))
    lines = unit_facts.stdout.decode(errors="replace")
    if "LoadState=loaded" not in lines:
        raise HostRefused(_("unit %(unit)s is not installed there") % {"unit": unit})
    if f" {file} ;" not in lines:
        raise HostRefused(_("unit %(unit)s there does not start %(file)s") % {"unit": unit, "file": file})

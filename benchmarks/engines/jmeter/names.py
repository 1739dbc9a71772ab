"""Hosts file of a JMeter run: the names of its plan and its target, each resolved and checked once."""

import ipaddress
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from django.utils.translation import gettext as _

from benchmarks.engines import http_addresses
from benchmarks.engines.base import RunContext
from benchmarks.engines.jmeter.command import HOSTS
from benchmarks.engines.jmeter.options import plan_to_start
from benchmarks.errors import Refused
from benchmarks.processes import workdir


@contextmanager
def run_services(context: RunContext) -> Iterator[None]:
    """Write a hosts file for Java, which then asks no name server, so that no name can lead elsewhere.

    Raises `Refused`.
    """
    known = {"localhost": "127.0.0.1", socket.gethostname(): "127.0.0.1"}
    urls = plan_to_start(context.run.options["plan"]).urls
    known |= {urlsplit(url).hostname or "": http_addresses.resolved(url) for url in urls}
    known[context.endpoint.host] = _resolved(context.endpoint.host)
    text = "".join(f"{address} {name}\n" for name, address in known.items() if not _is_address(name))
    workdir.put(context.home / HOSTS, text)
    yield


def _resolved(host: str) -> str:
    if _is_address(host):
        return host
    try:
        return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError as error:
        raise Refused(_("host %(host)s can't be resolved (%(error)s)") % {"host": host, "error": error}) from None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True

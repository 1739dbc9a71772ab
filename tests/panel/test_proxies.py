"""Where a request comes from: what is believed of X-Forwarded-For."""

import asyncio
from ipaddress import ip_network
from typing import Any

import pytest
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from panel.proxies import TrustedProxies


def seen(app_of: Any, peer: str, forwarded_for: str, proto: str = "") -> tuple[str | None, str]:
    """The client's address and the scheme as the panel sees them."""
    found: list[tuple[str | None, str]] = []

    async def panel(scope: Any, receive: Any, send: Any) -> None:
        found.append((scope["client"] and scope["client"][0], scope["scheme"]))

    headers = [(b"x-forwarded-for", forwarded_for.encode())] if forwarded_for else []
    headers += [(b"x-forwarded-proto", proto.encode())] if proto else []
    scope = {"type": "http", "client": (peer, 4711), "scheme": "http", "headers": headers}
    asyncio.run(app_of(panel)(scope, None, None))
    return found[0]


def trusting(*networks: str) -> Any:
    return lambda panel: TrustedProxies(panel, [ip_network(one) for one in networks])


def test_nobody_is_believed_unless_named():
    assert seen(trusting(), "127.0.0.1", "203.0.113.9", "https") == ("127.0.0.1", "http")


def test_a_named_proxy_is_believed_and_nobody_else():
    proxy = trusting("10.0.0.5/32")
    assert seen(proxy, "10.0.0.5", "203.0.113.9", "https") == ("203.0.113.9", "https")
    assert seen(proxy, "10.0.0.6", "203.0.113.9", "https") == ("10.0.0.6", "http")


def test_of_several_addresses_the_last_that_is_no_proxy_counts():
    assert seen(trusting("10.0.0.0/8"), "10.0.0.5", "198.51.100.1, 203.0.113.9, 10.0.0.7") == ("203.0.113.9", "http")


@pytest.mark.parametrize("claim", ["203.0.113.9", "198.51.100.1, 203.0.113.9", "[2001:db8::9]"])
def test_an_address_that_the_web_server_took_from_the_header_is_none(claim: str):
    """uvicorn believes loopback by default: with that, each request could choose the address that is limited."""
    assert seen(lambda panel: ProxyHeadersMiddleware(TrustedProxies(panel, [])), "127.0.0.1", claim)[0] is None


def test_a_proxy_on_this_machine_may_be_believed_by_the_web_server_too():
    def app_of(panel):
        return ProxyHeadersMiddleware(trusting("127.0.0.1/32")(panel))

    assert seen(app_of, "127.0.0.1", "203.0.113.9") == ("203.0.113.9", "http")

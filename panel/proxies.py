"""What a proxy in POOLDECK_TRUSTED_PROXIES may say, and nobody else: the client's address, and who it is."""

import logging
from collections.abc import Collection, Iterator
from ipaddress import ip_address

from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from core.lib.asgi import Application, Receive, Scope, Send
from core.lib.env import Networks

logger = logging.getLogger(__name__)
LOOPBACK = ("127.0.0.1", "::1")
FORWARDED_FOR = b"x-forwarded-for"
Headers = list[tuple[bytes, bytes]]


class TrustedProxies:
    """ASGI middleware that sets the client's address, which login limits and POOLDECK_METRICS_ALLOW use.

    `X-Forwarded-For` and `X-Forwarded-Proto` of a trusted proxy are applied. Unless started with --no-proxy-headers,
    uvicorn applies those of loopback itself. So if loopback is not trusted and the client's address equals one in the
    request's own header, the sender chose it: such a request has no address.

    Headers of `identity` say who the person is, and are removed from requests of anybody else, by the address from
    which the connection came. Django reads X_Remote_User as X-Remote-User, so the former is removed whoever sent it, as
    is one that came twice: a proxy that adds its own to the client's would let the client speak.
    """

    def __init__(self, app: Application, trusted: Networks, identity: Collection[str] = ()) -> None:
        self._app = app
        self._trusting = app
        self._trusted = trusted
        self._identity = {name.lower().encode() for name in identity}
        if trusted:
            self._trusting = ProxyHeadersMiddleware(app, [str(network) for network in trusted])
        self._trusts_loopback = any(ip_address(here) in network for here in LOOPBACK for network in trusted)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with a verified client address."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        if not self._trusts_loopback and _was_claimed(scope):
            logger.warning(
                "the web server took a client's address from X-Forwarded-For: start it with --no-proxy-headers, and "
                "name your proxy in POOLDECK_TRUSTED_PROXIES"
            )
            scope = {**scope, "client": None}
        if self._identity:
            scope = {**scope, "headers": list(self._believed(scope))}
        await self._trusting(scope, receive, send)

    def _believed(self, scope: Scope) -> Iterator[tuple[bytes, bytes]]:
        """Yield the headers of the request without those on who it is that are not the proxy's word."""
        headers: Headers = scope["headers"]
        names = [name.lower() for name, _value in headers]
        from_proxy = self._is_trusted(scope)
        for name, value in headers:
            spelled = name.lower().replace(b"_", b"-")
            is_one = name.lower() == spelled and names.count(spelled) == 1
            if spelled not in self._identity or (from_proxy and is_one):
                yield name, value

    def _is_trusted(self, scope: Scope) -> bool:
        """Tell whether the connection came from a named proxy."""
        host = (scope.get("client") or ("",))[0]
        try:
            address = ip_address(host)
        except ValueError:  # a Unix socket
            return False
        return any(address in network for network in self._trusted)


def _was_claimed(scope: Scope) -> bool:
    """Tell whether the client's address is one that the request's own header names."""
    claims = b",".join(value for name, value in scope["headers"] if name == FORWARDED_FOR).decode("latin-1")
    host = (scope.get("client") or ("",))[0]
    return bool(host) and host in [claim.strip().strip("[]") for claim in claims.split(",")]

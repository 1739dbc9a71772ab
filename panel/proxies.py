"""The client's address: `X-Forwarded-For` counts only if a proxy in POOLDECK_TRUSTED_PROXIES sent it."""

import logging
from ipaddress import ip_address

from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from core.lib.asgi import Application, Receive, Scope, Send
from core.lib.env import Networks

logger = logging.getLogger(__name__)
LOOPBACK = ("127.0.0.1", "::1")
FORWARDED_FOR = b"x-forwarded-for"


class TrustedProxies:
    """ASGI middleware that sets the client's address, which login limits and POOLDECK_METRICS_ALLOW use.

    `X-Forwarded-For` and `X-Forwarded-Proto` of a trusted proxy are applied. Unless started with --no-proxy-headers,
    uvicorn applies those of loopback itself. So if loopback is not trusted and the client's address equals one in the
    request's own header, the sender chose it: such a request has no address.
    """

    def __init__(self, app: Application, trusted: Networks) -> None:
        self._app = app
        self._trusting = app
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
        await self._trusting(scope, receive, send)


def _was_claimed(scope: Scope) -> bool:
    """Tell whether the client's address is one that the request's own header names."""
    claims = b",".join(value for name, value in scope["headers"] if name == FORWARDED_FOR).decode("latin-1")
    host = (scope.get("client") or ("",))[0]
    return bool(host) and host in [claim.strip().strip("[]") for claim in claims.split(",")]

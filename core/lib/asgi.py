"""Types of ASGI applications, as wide as the specification: uvicorn, Django and asgiref narrow them differently."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Scope = Mapping[str, Any]  # a connection's facts, as the ASGI specification lists them
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[..., Awaitable[None]]  # called with Scope, Receive and Send

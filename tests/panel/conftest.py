"""What the panel's tests of whole requests share."""

import socket

import psycopg
import pytest


@pytest.fixture
def nothing_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """No server is connected to and no name is resolved, whatever host is made up."""

    def refuse(*_: object, **__: object) -> None:
        raise psycopg.OperationalError("connection refused")

    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(psycopg, "connect", refuse)
    monkeypatch.setattr(socket, "create_connection", unknown)
    monkeypatch.setattr(socket, "getaddrinfo", unknown)

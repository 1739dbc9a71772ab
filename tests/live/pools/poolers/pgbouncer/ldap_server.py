"""An LDAP server that answers simple binds (RFC 4511, 4.2), as much as PgBouncer asks of one."""

import re
import socketserver
import threading
from collections.abc import Mapping
from typing import Self

SUCCESS, INVALID_CREDENTIALS = 0, 49
BIND = re.compile(rb"\x60.\x02\x01\x03\x04(?P<length>.)", re.DOTALL)  # a bind request of version 3, its name short


class LdapServer:
    """Serves on a free port of 127.0.0.1 while it is entered; `passwords` by uid."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self.passwords = passwords
        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        self.port = int(self.server.server_address[1])

    def __enter__(self) -> Self:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def code_of(self, request: bytes) -> int:
        """The result of a bind: its name is uid=NAME,dc=x."""
        found = BIND.search(request)
        if not found:
            return INVALID_CREDENTIALS
        at = found.end()
        name, rest = request[at : at + found["length"][0]], request[at + found["length"][0] :]
        uid, password = name.decode().partition(",")[0].removeprefix("uid="), rest[2 : 2 + rest[1]].decode()
        return SUCCESS if self.passwords.get(uid) == password else INVALID_CREDENTIALS

    def _handler(self) -> type[socketserver.BaseRequestHandler]:
        ldap = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                while request := self.request.recv(4096):
                    if b"\x42\x00" in request[-2:]:  # unbind
                        return
                    number = request[2 : 4 + request[3]]
                    body = b"\x61\x07\x0a\x01" + bytes([ldap.code_of(request)]) + b"\x04\x00\x04\x00"
                    self.request.sendall(b"\x30" + bytes([len(number) + len(body)]) + number + body)

        return Handler

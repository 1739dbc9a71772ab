"""Passwords that the panel makes for roles, and their hashes."""

import secrets
import string

from pools.clusters import connect

# Nothing that a URI, a shell, an ini file or .pgpass would want escaped, and nothing a double click stops at.
ALPHABET = string.ascii_letters + string.digits
LENGTH = 32  # 190 bits


def generate() -> str:
    """A password nobody guesses."""
    return "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))


def hashed(connection: connect.Connection, role: str, password: str) -> str:
    """The SCRAM verifier that stands in for the password in CREATE and ALTER ROLE.

    Made on this side, so that the password itself never reaches the server, nor its log (the manual on
    PQencryptPasswordConn). Any server since PostgreSQL 10 takes it, whatever its password_encryption says.
    """
    encoding = connection.info.encoding
    verifier = connection.pgconn.encrypt_password(password.encode(), role.encode(encoding), b"scram-sha-256")
    return verifier.decode()

"""Generates passwords for roles, and their SCRAM verifiers."""

import secrets
import string

from pools.clusters import connect

# Needs no escaping in a URI, a shell, an ini file or .pgpass, and a double click selects all of it.
ALPHABET = string.ascii_letters + string.digits
LENGTH = 32  # 190 bits


def generate() -> str:
    """Return a random password without characters that need quoting."""
    return "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))


def hashed(connection: connect.Connection, role: str, password: str) -> str:
    """Return the SCRAM verifier that replaces the password in CREATE and ALTER ROLE.

    It is computed here, so that the password never reaches the server or its log (the manual on
    PQencryptPasswordConn). Any server since PostgreSQL 10 accepts it, whatever its password_encryption.
    """
    encoding = connection.info.encoding
    verifier = connection.pgconn.encrypt_password(password.encode(), role.encode(encoding), b"scram-sha-256")
    return verifier.decode()

"""A pool of node-postgres (node-postgres.com, "Connecting" and "SSL"; `ssl` is of Node's `tls.connect`)."""

from pools.clusters.endpoints import Endpoint
from pools.connection_strings.parameters import checked_sslmode
from pools.connection_strings.quoting import quoted
from pools.models import SslMode

READ_FILE = 'import { readFileSync } from "node:fs";'


def render(endpoint: Endpoint) -> str:
    """Return `new pg.Pool({…})` as an ES module."""
    security = "" if endpoint.is_socket else ssl(endpoint)
    options = {
        "host": quoted(endpoint.host),
        "port": str(endpoint.port),
        "database": quoted(endpoint.database),
        "user": quoted(endpoint.user),
        "password": quoted(endpoint.password) if endpoint.password else "",
        "ssl": security,
    }
    imports = [READ_FILE] if "readFileSync" in security else []
    lines = [f"  {name}: {value}," for name, value in options.items() if value]
    return "\n".join([*imports, 'import pg from "pg";', "", "const pool = new pg.Pool({", *lines, "});"])


def ssl(endpoint: Endpoint) -> str:
    """Return the option `ssl` of `tls.connect`; empty for `prefer`, which node-postgres lacks: it stays without TLS.

    Without a root certificate Node checks against the authorities that it ships.
    """
    authority = [f"ca: readFileSync({quoted(endpoint.sslrootcert)})"] if endpoint.sslrootcert else []
    return {
        SslMode.PREFER.value: "",
        SslMode.DISABLE.value: "false",
        SslMode.REQUIRE.value: "{ rejectUnauthorized: false }",
        SslMode.VERIFY_CA.value: f"{{ {', '.join([*authority, 'checkServerIdentity: () => undefined'])} }}",
        SslMode.VERIFY_FULL.value: f"{{ {authority[0]} }}" if authority else "true",
    }[checked_sslmode(endpoint)]

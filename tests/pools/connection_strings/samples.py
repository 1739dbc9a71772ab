"""Endpoints for the tests of the formats, and what libpq is to make of them."""

from typing import Any

from hypothesis import strategies as st

from pools.clusters.endpoints import Endpoint

PLAIN = Endpoint("db.example", 5432, "shop", "app", "s3cret")
ODD = Endpoint("::1", 6432, "my db", 'o"neil', "p@ss w/o:rd'\"%", "verify-full", "/ca dir/ca.pem")
SOCKET = Endpoint("/run/postgresql", 5433, "shop", "app", "s3cret", "disable")

texts = st.text(st.characters(exclude_characters="\0\r\n", exclude_categories=["Cs"]), min_size=1, max_size=63)
hosts = st.sampled_from(["db.example", "127.0.0.1", "::1", "fe80::1%eth0", "/run/postgresql", "/tmp/a b?c&d=e%"])
sslmodes = st.sampled_from(["disable", "prefer", "require", "verify-ca", "verify-full"])
endpoints = st.builds(Endpoint, hosts, st.integers(1, 65535), texts, texts, texts, sslmodes, st.just("") | texts)


def expected(endpoint: Endpoint) -> dict[str, Any]:
    """libpq's parameters of the endpoint; `prefer` is its default."""
    found = {
        "host": endpoint.host,
        "port": str(endpoint.port),
        "dbname": endpoint.database,
        "user": endpoint.user,
        "password": endpoint.password,
        "sslmode": "" if endpoint.sslmode == "prefer" else endpoint.sslmode,
        "sslrootcert": endpoint.sslrootcert,
    }
    return {name: value for name, value in found.items() if value}

"""What is read from the URI of an external endpoint, and what is refused in it."""

import pytest

from benchmarks.errors import InvalidTarget
from benchmarks.targets import external


def test_a_uri_says_all_of_a_login():
    read = external.read_uri("postgresql://app%40x:p%2Fw@proxy.example.org:6432/shop?sslmode=require")
    assert read == {
        "host": "proxy.example.org",
        "port": 6432,
        "database": "shop",
        "user": "app@x",
        "password": "p/w",
        "sslmode": "require",
    }


def test_port_and_sslmode_have_libpqs_defaults():
    read = external.read_uri("postgres://app@db/shop")
    assert (read["port"], read["sslmode"], read["password"]) == (5432, "prefer", "")


@pytest.mark.parametrize(
    ("uri", "described"),
    [
        ("host=db dbname=shop", "it begins with postgresql://"),
        ("https://db/shop", "it begins with postgresql://"),
        ("postgresql://app:se cret@[db/shop", "libpq can't read it"),
        ("postgresql://app@/shop", "it lacks the host"),
        ("postgresql://db/shop", "it lacks the user"),
        ("postgresql://app@db", "it lacks the dbname"),
        ("postgresql://app@a,b/shop", "name one host"),
        ("postgresql://app@db:70000/shop", "70000 is no port"),
        ("postgresql://app@db/shop?sslmode=allow", "sslmode 'allow' is not taken"),
        ("postgresql://app@db/shop?sslrootcert=/etc/passwd", "leave out sslrootcert"),
        ("postgresql://app@db/shop?options=-crole%3Dpostgres", "leave out options"),
        ("postgresql://app@db/shop?hostaddr=127.0.0.1", "leave out hostaddr"),
        ("postgresql://app@db/" + "s" * 64, "the dbname is longer than 63 bytes"),
    ],
)
def test_what_is_no_login_of_one_server_is_refused_without_the_password(uri, described):
    with pytest.raises(InvalidTarget) as refused:
        external.read_uri(uri)
    assert described in str(refused.value)
    assert "se cret" not in str(refused.value)

"""When a SCRAM verifier may stand in userlist.txt in the place of a password."""

import uuid

import pytest

from pools.poolers.pgbouncer import userlist
from pools.poolers.pgbouncer.userlist import Verifiers
from tests.pools.records import a_cluster, a_pool, a_pooler

PASSWORD = "first-password"
OF_POSTGRESQL = (  # PostgreSQL 15 stores the verifier in this form.
    "SCRAM-SHA-256$4096:MDEyMzQ1Njc4OWFiY2RlZg==$Epk+9fbcM6DWlbr1Gk9sxNlsmnXITDe9mCSnFMY+fLw=:VHv/9HcGaC3w7nLlpjlxTBP3fA1DZx84/yxFHEaZgsw="
)


@pytest.fixture
def pool(db):
    return a_pool(name="shop", cluster=a_cluster(), pooler=a_pooler(), user="shopper")


def answer(monkeypatch, **of_role):
    monkeypatch.setattr(userlist, "_ask", lambda cluster, roles: {r: of_role[r] for r in roles if r in of_role})


def found(pool, homes=None, live=None, password=PASSWORD):
    homes = {pool.user: {(pool.cluster_id, False)}} if homes is None else homes
    return userlist.find_verifiers([pool], homes, {pool.user: password}, Verifiers(live or {}))


@pytest.mark.parametrize(
    ("verifier", "password", "fits"),
    [
        (OF_POSTGRESQL, PASSWORD, True),
        (OF_POSTGRESQL, "another", False),
        (OF_POSTGRESQL, "pässword", False),
        ("md5" + "0" * 32, PASSWORD, False),
        ("SCRAM-SHA-256$4096:torn", PASSWORD, False),
        ("", PASSWORD, False),
    ],
)
def test_a_verifier_fits_the_password_it_was_made_of(verifier, password, fits):
    assert userlist.fits(verifier, password) is fits


@pytest.mark.parametrize(
    ("version", "auth_type", "of_use"),
    [
        ((1, 18), "scram-sha-256", True),
        ((1, 24), "md5", True),
        ((1, 24), "hba", True),
        ((1, 18), "plain", False),
        ((1, 25), "scram-sha-256", False),
    ],
)
def test_verifiers_are_of_use_where_each_login_is_hashed_by_the_pooler(version, auth_type, of_use):
    assert userlist.verifiers_are_of_use(version, auth_type) is of_use


def test_the_verifier_of_the_server_is_taken_where_it_fits(pool, monkeypatch):
    answer(monkeypatch, shopper=(OF_POSTGRESQL, ""))
    assert found(pool) == Verifiers({"shopper": OF_POSTGRESQL})


def test_one_that_does_not_fit_is_left_and_said(pool, monkeypatch):
    answer(monkeypatch, shopper=(OF_POSTGRESQL, ""))
    why = f"the verifier on {pool.cluster} does not match the password that the panel knows"
    assert found(pool, password="another") == Verifiers({}, {"shopper": why})


def test_a_server_without_one_is_left_and_said(pool, monkeypatch):
    answer(monkeypatch, shopper=(None, "it may not be read"))
    assert found(pool, live={"shopper": OF_POSTGRESQL}) == Verifiers({}, {"shopper": "it may not be read"})


def test_a_server_that_does_not_answer_changes_nothing(pool, monkeypatch):
    answer(monkeypatch)
    assert found(pool, live={"shopper": OF_POSTGRESQL}) == Verifiers({"shopper": OF_POSTGRESQL})


def test_roles_of_other_clusters_keep_what_is_live(pool, monkeypatch):
    answer(monkeypatch, shopper=(OF_POSTGRESQL, ""))
    assert found(pool, live={"elsewhere": OF_POSTGRESQL}).of == {"shopper": OF_POSTGRESQL, "elsewhere": OF_POSTGRESQL}


@pytest.mark.parametrize(
    ("homes", "why"),
    [
        ([(uuid.UUID(int=1), False), (uuid.UUID(int=2), False)], "several clusters"),
        ([(uuid.UUID(int=1), False), (uuid.UUID(int=1), True)], "through a Pgpool-II"),
    ],
)
def test_a_role_with_more_than_one_salt_stays_in_clear(pool, monkeypatch, homes, why):
    answer(monkeypatch, shopper=(OF_POSTGRESQL, ""))
    verifier = found(pool, homes={"shopper": set(homes)}, live={"shopper": OF_POSTGRESQL})
    assert verifier.of == {}
    assert why in verifier.in_clear["shopper"]

"""What the environment says about sign-on, and what stops the start."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from core.accounts.models import Role
from core.accounts.sign_on import configuration
from core.accounts.sign_on.configuration import Grant, GroupRules, grants


def test_the_roles_are_those_of_teams():
    assert list(configuration.ROLES) == [role.value for role in Role]


def test_groups_may_have_any_name_and_teams_may_have_spaces():
    assert grants("a=Data base:viewer; cn=dba,ou=it=administrator;; /x:y=T:U:owner") == (
        Grant("a", "Data base", "viewer"),
        Grant("cn=dba,ou=it"),
        Grant("/x:y", "T:U", "owner"),
    )


@pytest.mark.parametrize("raw", ["dba", "=administrator", "dba=Payments", "dba=Payments:king", "dba=:owner"])
def test_anything_else_is_refused_with_what_it_should_be(raw):
    with pytest.raises(
        ValueError, match="is neither GROUP=TEAM:ROLE, with viewer, developer, operator, owner as roles"
    ):
        grants(raw)


def test_one_group_may_give_several_roles():
    rules = GroupRules(grants("a=T:viewer; a=administrator; b=T:owner"))
    assert rules.of(frozenset({"a", "c"})) == [Grant("a", "T", "viewer"), Grant("a")]


def test_without_an_issuer_there_is_no_provider(monkeypatch):
    monkeypatch.delenv("POOLDECK_OIDC_ISSUER", raising=False)
    monkeypatch.delenv("POOLDECK_OIDC_CLIENT_ID", raising=False)
    assert configuration.openid_connect() is None


def test_the_secret_may_be_a_file_and_is_not_shown(monkeypatch, tmp_path):
    (tmp_path / "secret").write_text("s3cret\n")
    monkeypatch.setenv("POOLDECK_OIDC_ISSUER", "https://sso.example.org/")
    monkeypatch.setenv("POOLDECK_OIDC_CLIENT_ID", "pooldeck")
    monkeypatch.setenv("POOLDECK_OIDC_CLIENT_SECRET_FILE", str(tmp_path / "secret"))
    monkeypatch.setenv("POOLDECK_OIDC_SCOPES", "openid,groups")
    found = configuration.openid_connect()
    assert found is not None
    assert (found.issuer, found.client_secret, found.scopes) == (
        "https://sso.example.org",
        "s3cret",
        ("openid", "groups"),
    )
    assert "s3cret" not in repr(found)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("POOLDECK_OIDC_CLIENT_ID", "", "POOLDECK_OIDC_ISSUER and POOLDECK_OIDC_CLIENT_ID belong together"),
        ("POOLDECK_OIDC_ISSUER", "sso.example.org", "POOLDECK_OIDC_ISSUER='sso.example.org': use http:// or https://"),
        ("POOLDECK_OIDC_CLIENT_SECRET_FILE", "/nowhere", "the file can't be read: No such file"),
        ("POOLDECK_OIDC_TOKEN_AUTH_METHOD", "none", "use client_secret_basic or client_secret_post"),
        ("POOLDECK_OIDC_GROUPS", "dba", "POOLDECK_OIDC_GROUPS='dba': 'dba' is neither"),
    ],
)
def test_a_bad_value_stops_the_start_and_names_its_variable(monkeypatch, name, value, said):
    monkeypatch.setenv("POOLDECK_OIDC_ISSUER", "https://sso.example.org")
    monkeypatch.setenv("POOLDECK_OIDC_CLIENT_ID", "pooldeck")
    monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured, match=said):
        configuration.openid_connect()

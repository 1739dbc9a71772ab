"""The provider on loopback, how the panel is set to it, and the teams that groups lead to."""

from collections.abc import Iterator

import pytest

from core.accounts.models import Team
from core.accounts.sign_on.configuration import OpenIDConnect
from tests import oidc_provider
from tests.core.accounts.sign_on.walking import RULES
from tests.oidc_provider import OIDCProvider


@pytest.fixture(scope="package")
def provider() -> Iterator[OIDCProvider]:
    with oidc_provider.serving() as served:
        yield served


@pytest.fixture
def oidc(provider, settings) -> OpenIDConnect:
    settings.OIDC = OpenIDConnect(
        issuer=provider.issuer, client_id="pooldeck", client_secret="s3", name="ACME", rules=RULES
    )
    return settings.OIDC


@pytest.fixture
def teams() -> tuple[Team, Team]:
    return Team.objects.create(name="Payments"), Team.objects.create(name="Orders")

"""Why a message was not delivered is said without the address of the webhook and the password of the mail server."""

import uuid

import pytest
from pytest_django import Settings

from pools.models import Channel
from pools.monitoring import channels
from pools.monitoring.channels import DeliveryFailed, Letter
from tests.live.panel.canary.places import MailServer, serving

TEST = Letter(uuid.UUID(int=1), [], is_test=True)


@pytest.mark.parametrize("path", ["canary word", "canäry", "canary\tword"])
def test_an_address_that_no_url_can_have_is_not_repeated(settings: Settings, path: str) -> None:
    settings.WEBHOOK_URL = f"http://127.0.0.1:1/{path}"
    with pytest.raises(DeliveryFailed) as failed:
        channels.send(Channel.WEBHOOK, TEST)
    assert str(failed.value) == "the address of the webhook has signs that a URL can't have"
    assert failed.value.__suppress_context__


@pytest.mark.parametrize("field", ["EMAIL_HOST_USER", "EMAIL_HOST_PASSWORD"])
def test_a_login_that_smtp_can_not_carry_is_not_repeated(settings: Settings, field: str) -> None:
    """Django's own backend for tests is replaced: it logs in nowhere."""
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    server = MailServer()
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.server_address[1]
    settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
    settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = "user"
    settings.EMAIL_TO = ["dba@example.org"]
    setattr(settings, field, "canäry")
    with serving(server), pytest.raises(DeliveryFailed) as failed:
        channels.send(Channel.EMAIL, TEST)
    assert "letters beyond ASCII" in str(failed.value)
    assert "can" not in str(failed.value).replace("can't", "")
    assert failed.value.__suppress_context__

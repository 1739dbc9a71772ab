"""The ASGI entry point that uvicorn serves."""

import os

import django
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.urls import get_resolver

from core.lib import env, gc_tuning
from core.lib.asgi import Application
from panel.proxies import TrustedProxies
from panel.request_deadlines import BodyDeadline

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panel.settings")

if not env.secret("POOLDECK_SECRET_KEY", "secret_key"):
    raise ImproperlyConfigured(
        f"POOLDECK_SECRET_KEY (or the file secret_key in {settings.SECRETS_FOLDER}) is needed by the web process: it "
        "signs sessions with it; script/up and script/install make it"
    )
django.setup()


def _handler() -> Application:
    from panel.web.handler import Handler  # models, which need Django set up
    from panel.web.lanes import Lanes

    return Handler(Lanes())


identity = settings.SIGN_ON_HEADER.headers if settings.SIGN_ON_HEADER else ()
application = TrustedProxies(BodyDeadline(_handler()), settings.TRUSTED_PROXIES, identity)
get_resolver().check()  # imports every view; else the first request would
gc_tuning.freeze_existing()

"""The ASGI entry point that uvicorn serves."""

import os

from django.conf import settings
from django.core.asgi import get_asgi_application
from django.urls import get_resolver

from panel.lib import gc_tuning
from panel.proxies import TrustedProxies
from panel.request_deadlines import BodyDeadline

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panel.settings")

application = TrustedProxies(BodyDeadline(get_asgi_application()), settings.TRUSTED_PROXIES)
get_resolver().check()  # imports every view; else the first request would
gc_tuning.leave_out_what_there_is()

"""The ASGI entry point that uvicorn serves."""

import os

from django.core.asgi import get_asgi_application
from django.urls import get_resolver

from panel import collecting

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panel.settings")

application = get_asgi_application()
get_resolver().check()  # imports every view; else the first request would
collecting.leave_out_what_there_is()

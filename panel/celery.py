"""The Celery application; a worker is a generator and the hand that applies configurations."""

import ctypes
import os
import signal
from typing import Any

from celery import Celery
from celery.signals import worker_process_init

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panel.settings")

app = Celery("pooldeck")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

PR_SET_PDEATHSIG = 1


@worker_process_init.connect
def die_with_the_worker(**_: Any) -> None:
    """End a pool child at once when its worker dies, so that the load it started dies too (prctl(2))."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

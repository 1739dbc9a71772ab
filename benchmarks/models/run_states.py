"""The states of a run, and the classes by which its result is read."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Status(models.TextChoices):
    """State of a run."""

    QUEUED = "queued", _("queued")
    STARTING = "starting", _("starting")
    RUNNING = "running", _("running")
    SUCCEEDED = "succeeded", _("succeeded")
    FAILED = "failed", _("failed")
    CANCELLED = "cancelled", _("cancelled")
    TIMED_OUT = "timed_out", _("timed out")
    LOST = "lost", _("lost")


ACTIVE = frozenset({Status.STARTING, Status.RUNNING})
FINAL = frozenset({Status.SUCCEEDED, Status.FAILED, Status.CANCELLED, Status.TIMED_OUT, Status.LOST})


class Validity(models.TextChoices):
    """The classes of runs by whether their figures may be compared."""

    VALID = "valid", _("valid")
    SUSPECT = "suspect", _("suspect")
    INCOMPLETE = "incomplete", _("incomplete")


class Purpose(models.TextChoices):
    """Purpose for which the program is run."""

    LOAD = "load", _("load")
    PREPARE = "prepare", _("prepare a dataset")
    IMPORT = "import", _("imported output")


class Gate(models.TextChoices):
    """Result of a run's thresholds."""

    PASSED = "passed", _("passed")
    FAILED = "failed", _("failed")

"""Errors of an upgrade; the message is for the operator."""


class UpgradeRefused(Exception):
    """Nothing was changed."""


class StepFailed(Exception):
    """A step did not succeed, and what it began is undone."""

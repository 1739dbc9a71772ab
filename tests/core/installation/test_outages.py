"""Periodic tasks log one line while the metadata database is away, and one when it is back."""

import logging
from typing import NoReturn

import psycopg
import pytest
from celery import Task
from django.db import Error, InterfaceError, OperationalError

from core.installation import outages, pausing
from panel.celery import app

PERIODIC = "pools.tasks.check_drift"
MESSAGE = 'connection failed: connection to server at "10.0.0.1", port 5432 failed:\n\tConnection refused'


def failed(cause: psycopg.Error, kind: type[Error] = OperationalError) -> Error:
    """An error as Django raises it of one of psycopg."""
    error = kind(*cause.args)
    error.__cause__ = cause
    return error


@pytest.fixture
def task(monkeypatch: pytest.MonkeyPatch) -> Task:  # type: ignore[type-arg]
    """A task of beat, whose question whether the panel is paused is answered or fails."""
    monkeypatch.setattr(outages, "away_since", {})
    monkeypatch.setattr(pausing, "is_paused", lambda: True)
    app.loader.import_default_modules()
    return app.tasks[PERIODIC]


def fails(monkeypatch: pytest.MonkeyPatch, error: Error) -> None:
    def is_paused() -> NoReturn:
        raise error

    monkeypatch.setattr(pausing, "is_paused", is_paused)


@pytest.mark.parametrize(
    "error",
    [
        failed(psycopg.OperationalError(MESSAGE)),
        failed(psycopg.errors.AdminShutdown(MESSAGE)),
        failed(psycopg.errors.CannotConnectNow(MESSAGE)),
        failed(psycopg.InterfaceError(MESSAGE), InterfaceError),
    ],
)
def test_an_outage_is_one_line_and_its_end_another(task, error, monkeypatch, caplog) -> None:
    caplog.set_level(logging.INFO)
    with monkeypatch.context() as while_away:
        fails(while_away, error)
        for _ in range(3):
            assert task.apply().successful()
    for _ in range(2):
        task.apply()
    lines = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert lines == [
        f"{PERIODIC} waits for the metadata database: {' '.join(MESSAGE.split())}",
        f"{PERIODIC} goes on: the metadata database was away for 0 s",
    ]
    assert not any(record.exc_info for record in caplog.records)


@pytest.mark.parametrize(
    "error", [failed(psycopg.errors.DeadlockDetected("deadlock detected")), OperationalError("no such table: a")]
)
def test_an_error_of_a_statement_keeps_its_traceback(task, error, monkeypatch, caplog) -> None:
    fails(monkeypatch, error)
    assert task.apply().failed()
    assert any(record.exc_info for record in caplog.records)


def test_a_task_that_nothing_sends_again_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    @app.task(name="tests.asked_for_once", base=pausing.PausableTask, shared=False)
    def asked_for_once() -> None:
        """Fails before this."""

    fails(monkeypatch, failed(psycopg.OperationalError(MESSAGE)))
    assert asked_for_once.apply().failed()


def test_whoever_calls_a_task_directly_gets_the_error(task, monkeypatch) -> None:
    fails(monkeypatch, failed(psycopg.OperationalError(MESSAGE)))
    with pytest.raises(OperationalError):
        task()

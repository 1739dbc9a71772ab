"""A text with two readings: what admins read is in no other reader's response, however the text got there."""

import csv
import io
import json
import logging
from typing import Any

import pytest
from django.template.defaultfilters import truncatechars
from django.utils.html import escape, json_script

from core.lib import private_text
from core.lib.log_lines import Lines

SECRET = "connection refused: nothing listens at db'1:5432"
PUBLIC = "the panel can't reach cluster a<b"
TEXT = f"pool shop: {private_text.write(SECRET, PUBLIC)}; tried again"


def in_csv(text: str) -> str:
    written = io.StringIO()
    csv.writer(written).writerow(["1", text, "2"])
    return written.getvalue()


BODIES = {
    "text": str,
    "html": escape,
    "attribute": lambda text: f'<a title="{escape(text)}">{escape(text)}</a>',
    "json": lambda text: json.dumps({"a": [text, 'x"y']}, ensure_ascii=False),
    "escaped json": lambda text: json.dumps({"a": [text, 'x"y']}),
    "json in a page": lambda text: json_script({"a": text}, "x"),
    "repr": repr,
    "csv": in_csv,
    "cut": lambda text: f"<p>{escape(truncatechars(text, 70))}</p>",
}


@pytest.mark.parametrize("write", BODIES.values(), ids=BODIES)
def test_a_body_has_one_reading_of_it(write: Any) -> None:
    body = write(TEXT).encode()
    assert private_text.is_in(body)
    to_others, to_admins = (private_text.in_body(body, is_admin=one).decode() for one in (False, True))
    assert "connection" not in to_others
    assert "connection refused" in to_admins
    assert "an't reach cluster" not in to_admins
    assert not private_text.is_in(to_others.encode() + to_admins.encode())


def test_both_readings_are_there_to_take() -> None:
    assert private_text.for_admins(TEXT) == f"pool shop: {SECRET}; tried again"
    assert private_text.for_others(TEXT) == "pool shop: the panel can't reach cluster a‹b; tried again"
    assert private_text.for_others("without marks") == private_text.for_admins("without marks") == "without marks"


def test_a_text_within_another_is_read_by_the_same_reader() -> None:
    outer = private_text.write(f"stopping; {TEXT}", TEXT)
    assert private_text.for_admins(outer) == f"stopping; pool shop: {SECRET}; tried again"
    assert private_text.for_others(outer) == private_text.for_others(TEXT)


@pytest.mark.parametrize("forged", ["\ufdd0", "\ufdd0a\ufdd1", "\ufdd1", "\ufdd2", "\\ufdd0a", "\ufdd0a\\"])
def test_marks_that_somebody_typed_change_nothing_beside_their_own_text(forged: str) -> None:
    page = f'<a title="{forged}" href="/x/">{forged}</a><b class="y" title="z{forged}">{private_text.CLOSE}</b>'
    for is_admin in (False, True):
        body = private_text.in_body(page.encode(), is_admin=is_admin).decode()
        assert [body.count(part) for part in ('" href="/x/">', '</a><b class="y" title="z', "</b>")] == [1, 1, 1]


def test_the_log_has_what_the_operator_reads() -> None:
    record = logging.LogRecord("panel", logging.INFO, "", 1, "cluster %s", (TEXT,), None)
    assert Lines("%(message)s").format(record) == f"cluster pool shop: {SECRET}; tried again"

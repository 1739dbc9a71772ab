"""Each stream of events, as each caller; a stream asks who follows it from a thread of its own."""

import pytest
from asgiref.sync import async_to_sync
from django.http import HttpResponse
from django.test import AsyncClient

from tests.panel.access_matrix.addresses import address_of
from tests.panel.access_matrix.cells import ROUTES, Cell, cells_of, is_stream
from tests.panel.access_matrix.conftest import everything, tokens_of

pytestmark = pytest.mark.django_db(transaction=True)
STREAMS = [route for route in ROUTES if is_stream(route)]


async def beginning_of(url: str, headers: dict[str, str]) -> HttpResponse:
    """The answer's status; of a stream, once it sent something."""
    answer = await AsyncClient().get(url, headers=headers)
    if answer.streaming:
        await anext(aiter(answer.streaming_content))
        answer.close()
    return HttpResponse(status=answer.status_code)


def test_streams_are_for_whom_the_table_says(outside: None) -> None:
    made = everything()
    tokens = tokens_of(made.people)

    def ask(cell: Cell) -> HttpResponse:
        headers = {"authorization": f"Bearer {tokens[cell.caller]}"} if cell.caller in tokens else {}
        answer: HttpResponse = async_to_sync(beginning_of)(address_of(cell.route.path, made.records), headers)
        return answer

    assert len(STREAMS) == 4
    answers = [(cell, ask(cell)) for route in STREAMS for cell in cells_of(route)]
    off = [f"{cell}, and it is {answer.status_code}" for cell, answer in answers if cell.is_off(answer)]
    assert not off, "\n".join(off)

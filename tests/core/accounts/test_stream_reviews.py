"""The review of open streams: one look for all of them, and a second authorization only where something changed."""

import asyncio
from collections.abc import Iterator

import pytest
from django.db import OperationalError
from django.db.backends.utils import CursorWrapper
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from benchmarks.models import Script
from core.accounts import credentials, stream_reviews
from core.accounts.credentials import Credential, Grants
from core.accounts.models import ApiToken, Membership, Role, Team
from core.accounts.stream_reviews import OpenStream
from tests.callers import person

pytestmark = pytest.mark.django_db(transaction=True)
STREAMS = 30


@pytest.fixture(autouse=True)
def none_open() -> Iterator[None]:
    """Each test begins and ends without streams, and gives the session of the review back."""
    stream_reviews._open.clear()
    yield
    stream_reviews._open.clear()
    stream_reviews._thread.submit(stream_reviews.connections.close_all).result()


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that are sent to the database, by whatever thread."""
    found: list[str] = []
    execute = CursorWrapper.execute

    def noted(self: CursorWrapper, sql: str, params: object = None) -> object:
        found.append(sql)
        return execute(self, sql, params)

    monkeypatch.setattr(CursorWrapper, "execute", noted)
    return found


class Watched:
    """Streams of one caller each, that were authorized again so often."""

    def __init__(self, count: int, *, staff: bool = False) -> None:
        self.asked, self.may, self.streams = 0, True, list[OpenStream]()
        for number in range(count):
            user = person(f"watcher-{number}", staff=staff)
            ApiToken.objects.issue(user, "watch", ["read"])
            credential = Credential(user.pk, token_id=user.api_tokens.get().pk)
            grants = credentials.granted([credential])[credential]
            self.streams.append(OpenStream(credential, grants, self.is_still_allowed))
        for stream in self.streams:
            stream_reviews.add(object(), stream)

    async def is_still_allowed(self) -> bool:
        self.asked += 1
        return self.may

    @property
    def over(self) -> int:
        return sum(stream.is_over for stream in self.streams)


def look() -> None:
    """Review once, and wait for what is authorized again."""

    async def once() -> None:
        await stream_reviews._review_once()
        await asyncio.gather(*stream_reviews._again)

    asyncio.run(once())


@pytest.mark.parametrize("count", [1, STREAMS])
def test_a_look_takes_four_queries_however_many_are_open(executed: list[str], count: int) -> None:
    watched = Watched(count)
    executed.clear()
    look()
    asked = [sql for sql in executed if sql.startswith("SELECT")]
    assert (len(asked), watched.asked, watched.over) == (4, 0, 0)  # another is for sessions, of which none is open


def test_only_those_whose_callers_changed_are_authorized_again_and_only_once() -> None:
    watched = Watched(3)
    Membership.objects.filter(user__username="watcher-1").update(role=Role.OWNER)
    look()
    look()
    assert (watched.asked, watched.over) == (1, 0)


def in_a_team_of_their_own(name: str) -> Team:
    team = Team.objects.create(name=f"Team of {name}")
    Membership.objects.filter(user__username=name).update(team=team)
    return team


def test_who_lost_a_share_or_a_record_is_authorized_again_and_nobody_else() -> None:
    watched = Watched(3)
    first, second, third = (in_a_team_of_their_own(f"watcher-{number}") for number in range(3))
    shared, owned = Script.objects.create(name="shared", team=third), Script.objects.create(name="owned", team=second)
    shared.shared_with.set([first, third])
    look()
    watched.asked = 0
    shared.shared_with.remove(first)
    look()
    look()
    assert watched.asked == 1
    owned.team = third
    owned.save(update_fields=["team"])
    look()
    look()
    assert watched.asked == 2


def test_more_records_than_before_ask_nobody_again() -> None:
    watched = Watched(1)
    team = in_a_team_of_their_own("watcher-0")
    look()
    watched.asked = 0
    Script.objects.create(name="new", team=team)
    look()
    assert watched.asked == 0


def test_who_is_refused_the_second_time_is_sent_away() -> None:
    watched = Watched(2)
    watched.may = False
    Membership.objects.filter(user__username="watcher-0").delete()
    look()
    assert [stream.is_over for stream in watched.streams] == [True, False]


def test_an_ended_credential_is_not_asked_again() -> None:
    watched = Watched(2)
    ApiToken.objects.get(user__username="watcher-1").revoke()
    look()
    assert ([stream.is_over for stream in watched.streams], watched.asked) == ([False, True], 0)


def test_while_the_database_is_away_streams_stay_open(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(1)

    def refuse(_held: object) -> dict[Credential, Grants]:
        raise OperationalError("no connection")

    monkeypatch.setattr(credentials, "granted", refuse)
    look()
    assert watched.over == 0


@pytest.mark.parametrize("staff", [True, False])
def test_the_standing_by_which_a_request_was_answered_is_that_of_the_review(staff: bool) -> None:

    user = person(staff=staff)
    text = ApiToken.objects.issue(user, "watch", ["read", "run"])
    request = Request(APIRequestFactory().get("/"), authenticators=[])
    request.user, request.auth = user, ApiToken.objects.get(user=user)
    credential = Credential.of(request)
    assert text
    assert credentials.granted([credential]) == {credential: Grants.of(request)}

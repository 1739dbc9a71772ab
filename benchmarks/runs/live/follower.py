"""Follows a run's events for one viewer: from its place on, each once and in order, as fast as the viewer reads."""

from collections.abc import AsyncGenerator
from typing import Any, cast
from uuid import UUID

from benchmarks.models import Status
from benchmarks.runs.live import feeds, sources
from benchmarks.runs.live.events import BEGINNING, Event, State, event_id, position
from benchmarks.runs.live.feeds import Feed

LIFE = (Status.QUEUED, Status.STARTING, Status.RUNNING)  # then one of the final states
AT_ONCE = 100  # events: what a viewer holds that does not read
PAUSE_S = 15.0


class _SentState:
    """The furthest state sent to a viewer: a state never goes back, so an older one is left out."""

    def __init__(self) -> None:
        self._furthest: tuple[Any, ...] = ()

    def moves_to(self, state: State) -> bool:
        """Test whether the state is further than all sent before; it counts as sent then."""
        place = (
            state["attempt"],
            LIFE.index(state["status"]) if state["status"] in LIFE else len(LIFE),
            state["load_began_at"] is not None,
            state["stages"],
            state["progress_percent"] or 0.0,
            state["cancel_requested"],
        )
        further = place > self._furthest
        self._furthest = max(place, self._furthest)
        return further

    def leaves(self, events: list[Event]) -> list[Event]:
        """Return the events without the states that are not further."""
        return [one for one in events if one.name != "state" or self.moves_to(cast("State", one.payload))]


async def follow(
    run_id: UUID | str, after: str = BEGINNING, state: State | None = None, pause_s: float = PAUSE_S
) -> AsyncGenerator[list[Event], None]:
    """Yield the run's events after that id as they come, some at a time, until its end; first its `state`, if given.

    An empty list stands for `pause_s` seconds without an event. A state that the database has is told under the id of
    the last event. Ends too where the run was removed, or the database can't be read.
    """
    last, sent_state = event_id(*position(after)), _SentState()
    if state and sent_state.moves_to(state):
        yield [Event("state", last, state)]
    async with feeds.following(run_id) as feed:
        known: State | None = None
        while not feed.has_failed:
            found = [Event("state", last, feed.state)] if feed.state and feed.state is not known else []
            known, news = feed.state, await _news(feed, run_id, last)
            last = news[-1].id if news else last
            if events := sent_state.leaves(found + news):
                yield events
                if news and news[-1].name == "end":
                    return
            elif not news:
                if feed.is_over:
                    return
                if not await feed.changed(pause_s):
                    yield []


async def _news(feed: Feed, run_id: UUID | str, last: str) -> list[Event]:
    """Return some events after that id: of those that the feed keeps, or of the database for one who is far behind."""
    kept = feed.after(position(last), AT_ONCE)
    return kept if kept is not None else await sources.oldest(run_id, last, AT_ONCE)

"""How much of a pooler's time the panel's own logins take, by a clock that the test moves."""

from types import SimpleNamespace
from uuid import uuid4

import pytest

from pools.monitoring import pool_logins, redis_store

HOUR_S, BEAT_S = 3600.0, 10.0
SHARE = 0.01


class Clock:
    """Tells the time, holds keys until theirs is over, and makes each login last."""

    def __init__(self, login_s: float) -> None:
        self.now, self.login_s, self.logins = 0.0, login_s, 0
        self.held: dict[str, float] = {}

    def is_held(self, key: str) -> bool:
        return self.held.get(key, 0.0) > self.now

    def hold(self, key: str, for_s: float) -> None:
        self.held[key] = self.now + for_s

    def log_in(self, _: object) -> list[object]:
        self.now, self.logins = self.now + self.login_s, self.logins + 1
        return []


@pytest.mark.parametrize("login_s", [0.002, 0.03, 0.1])
def test_logins_take_at_most_one_percent_of_a_poolers_time(login_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(login_s)
    monkeypatch.setattr(pool_logins, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(pool_logins, "_finding", clock.log_in)
    monkeypatch.setattr(redis_store, "is_held", clock.is_held)
    monkeypatch.setattr(redis_store, "hold", clock.hold)
    due = [SimpleNamespace(pool=SimpleNamespace(pooler_id=uuid4()))] * 10_000  # all due, always
    for beat in range(int(HOUR_S / BEAT_S)):
        clock.now = max(clock.now, beat * BEAT_S)
        pool_logins._log_in_within_share(due)
    one_round = pool_logins.ROUND_S + pool_logins.COST_S
    assert 0 < clock.logins * login_s <= HOUR_S * SHARE + one_round

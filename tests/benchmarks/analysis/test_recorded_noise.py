"""The simulation of nights with recorded noise: its parts, by series whose answer is known."""

import random
from pathlib import Path

import pytest

from tests.bench.evidence import nights


def test_a_series_is_read_as_shares_of_its_mean(tmp_path: Path) -> None:
    file = tmp_path / "noise.csv"
    file.write_text("began_at,path,tps,load\n" + "x,direct,100,1\nx,pooled,220,1\nx,pooled,180,1\nx,direct,100,1\n")
    assert nights.recorded(file) == {
        "direct": [1.0, 1.0],
        "pooled": [1.1, 0.9],
        "ratio of a pair": pytest.approx([1.1, 0.9]),
    }


def test_blocks_keep_neighbors_together() -> None:
    draw, series = random.Random(3), [float(at) for at in range(100)]
    drawn = nights.nights(series, (1, 1), 60, draw)
    blocks = [drawn[at : at + nights.BLOCK] for at in range(0, 60, nights.BLOCK)]
    assert all([(one - block[0]) % 100 for one in block] == list(range(nights.BLOCK)) for block in blocks)


def test_a_night_is_the_median_of_the_means_of_consecutive_runs() -> None:
    class Draw(random.Random):
        def randrange(self, *_: int) -> int:
            return 0

    assert nights.nights([1.0, 3.0, 5.0, 9.0], (2, 1), 2, Draw()) == [2.0, 7.0]
    assert nights.nights([1.0, 3.0, 5.0, 9.0], (1, 3), 1, Draw()) == [3.0]


def test_a_fall_is_told_once_and_steady_nights_never() -> None:
    steady = [1.0, 1.001, 0.999] * 40
    assert nights.alarms(steady, 90) == 0
    assert nights.alarms([*steady[:100], *(0.9 * one for one in steady[:20])], 90) == 1
    assert nights.is_found([*steady[:90], *(0.95 * one for one in steady[:5])], 90)


def test_the_recorded_series_has_both_paths_in_pairs() -> None:
    found = nights.recorded()
    assert len(found["direct"]) == len(found["pooled"]) >= 60

"""What is read of the follower's lines, and how it is judged."""

from typing import Any

import pytest

from benchmarks.analysis.validity import judge
from benchmarks.engines.jmeter.output import read_output
from benchmarks.models import Validity


@pytest.mark.parametrize(("lasted_s", "verdict"), [(3.0, Validity.VALID), (1.0, Validity.INCOMPLETE)])
def test_the_first_request_may_be_late(lasted_s: float, verdict: Validity) -> None:
    summary: dict[str, Any] = {"tps": 100.0, "transactions": int(100 * lasted_s), "failed": 0, "clients": 2}
    reported = f'{{"summary": {summary}}}\n'.replace("'", '"')
    output = read_output(reported)
    assert judge(output, options={"clients": 2, "duration": 4}, exit_code=0, progress=[])[0] == verdict


def test_it_is_spoken_of_as_jmeter() -> None:
    _, reasons = judge(read_output("error: no such plan\n"), options={}, exit_code=1)
    assert reasons == [
        "JMeter exited with code 1: error: no such plan",
        "JMeter printed no summary; progress lines received: 0",
    ]

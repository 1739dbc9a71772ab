"""A run's page while samples arrive: nothing missing, nothing twice, whatever happens to the web process."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import ROOT, Web

EVERY_S = 0.1
COUNT_UPDATES = """() => {
    const chart = Chart.getChart(document.querySelector('[data-chart="tps"] canvas'));
    const update = chart.update;
    window.updates = 0;
    chart.update = (...words) => { window.updates += 1; return update.apply(chart, words); };
    return chart.data.datasets[0].data.length;
}"""
# What each task of the page did in turn, as a string: c a canvas drawn, t a text beside a chart's name written.
NOTE_STEPS = """() => {
    window.tasks = [];
    let isOpen = false;
    const note = (step) => {
        if (!isOpen) { window.tasks.push(""); isOpen = true; queueMicrotask(() => { isOpen = false; }); }
        window.tasks[window.tasks.length - 1] += step;
    };
    const { draw } = Chart.prototype;
    Chart.prototype.draw = function (...words) { note("c"); return draw.apply(this, words); };
    const text = Object.getOwnPropertyDescriptor(Node.prototype, "textContent");
    Object.defineProperty(HTMLOutputElement.prototype, "textContent", {
        ...text, set(value) { note("t"); text.set.call(this, value); },
    });
}"""
# How far the points of the last sample are from where the axes have their values, in px, and how many there are.
LAST_POINTS = """() => ["tps", "latency"].flatMap((key) => {
    const chart = Chart.getChart(document.querySelector(`[data-chart="${key}"] canvas`));
    return chart.data.datasets.filter(({ data }) => data.at(-1).y !== null).map(({ data }) => {
        const { data: elements } = chart.getDatasetMeta(chart.data.datasets.findIndex((one) => one.data === data));
        const { x, y } = data.at(-1);
        const dx = elements.at(-1).x - chart.scales.x.getPixelForValue(x);
        const dy = elements.at(-1).y - chart.scales.y.getPixelForValue(y);
        return { count: elements.length, off: Math.hypot(dx, dy) };
    });
})"""


@dataclass(frozen=True)
class Talk:
    """A run that says samples; a held one goes on when it is told to."""

    run_id: str
    talker: subprocess.Popen[str]

    def go_on(self) -> None:
        """Let it say the rest."""
        assert self.talker.stdin
        self.talker.stdin.write("\n")
        self.talker.stdin.flush()


@contextmanager
def talking(web: Web, count: int) -> Iterator[str]:
    """The id of a run that says `count` samples."""
    with _talk(web, str(count), str(EVERY_S)) as talk:
        yield talk.run_id


@contextmanager
def held(web: Web, count: int, after: int) -> Iterator[Talk]:
    """The same, held after some of them: however slow the browser is, the run is still on."""
    with _talk(web, str(count), str(EVERY_S), str(after)) as talk:
        yield talk


@contextmanager
def _talk(web: Web, *words: str) -> Iterator[Talk]:
    command = [sys.executable, "-m", "tests.browser.talker", *words]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, env=web.environment, text=True, **pipes) as talker:
        try:
            assert talker.stdout
            yield Talk(talker.stdout.readline().strip(), talker)
            assert talker.wait(timeout=120) == 0
        finally:
            talker.terminate()


def watch(page: Page, web: Web, run_id: str) -> None:
    page.goto(f"{web.url}/runs/{run_id}/")
    page.evaluate("window.untouched = true")  # gone after any reload or redirect


def wait_for_points(page: Page, count: int) -> None:
    """By asking again and again: the page's content security policy forbids Playwright's own waiting function."""
    deadline = time.monotonic() + 60
    while (drawn := page.evaluate("Number(document.querySelector('[data-run-id]').dataset.points)")) < count:
        assert time.monotonic() < deadline, f"{drawn} points are drawn, not {count}"
        time.sleep(0.05)


def times(page: Page) -> list[float]:
    found: list[float] = page.evaluate("window.pooldeckRun.times()")
    return found


def all_times(count: int) -> list[float]:
    return [round(number * EVERY_S, 3) for number in range(1, count + 1)]


def test_points_arrive_and_the_end_shows_the_result_where_one_is(page, web):
    with held(web, 40, after=20) as talk:
        watch(page, web, talk.run_id)
        expect(page.locator("[data-link-state]")).to_have_text("live")
        wait_for_points(page, 20)
        expect(page.locator("#run-head")).to_contain_text("running")
        expect(page.locator("#result-title")).to_have_count(0)
        talk.go_on()
        expect(page.locator("#result-title")).to_be_visible()
    assert times(page) == all_times(40)
    expect(page.locator("#run-head")).to_contain_text("succeeded")
    expect(page.locator("#run-result")).to_contain_text("1,23")
    assert page.evaluate("window.untouched")


def test_samples_are_drawn_into_the_axes_as_they_are(page, web):
    with held(web, 60, after=50) as talk:
        watch(page, web, talk.run_id)
        wait_for_points(page, 10)
        before = page.evaluate(COUNT_UPDATES)
        wait_for_points(page, 50)
        last = page.evaluate(LAST_POINTS)
        assert len(last) >= 2
        assert {one["count"] for one in last} == {50}
        assert max(one["off"] for one in last) < 0.5
        assert page.evaluate("window.updates") <= (50 - before) / 2
        talk.go_on()


def test_no_canvas_is_drawn_after_a_text_was_written(page, web):
    with held(web, 40, after=5) as talk:
        watch(page, web, talk.run_id)
        wait_for_points(page, 5)
        page.evaluate(NOTE_STEPS)
        talk.go_on()
        wait_for_points(page, 30)
        tasks = page.evaluate("window.tasks")
        assert all(re.fullmatch("c+t*|t+", steps) for steps in tasks)
        assert any(steps.startswith("cct") for steps in tasks)


@pytest.mark.slow
def test_a_restarted_web_process_leaves_neither_hole_nor_double(page, web):
    with talking(web, 90) as run_id:
        watch(page, web, run_id)
        wait_for_points(page, 10)
        web.kill()
        expect(page.locator("[data-link-state]")).to_have_text("reconnecting…")
        time.sleep(0.5)
        web.start()  # On a busy machine the run may end before this is done, and its end has to arrive as well.
        expect(page.locator("[data-link-state]")).not_to_have_text("reconnecting…")
        expect(page.locator("#result-title")).to_be_visible()
    assert times(page) == all_times(90)
    assert page.evaluate("window.untouched")


def test_a_reload_goes_on_where_it_was(page, web):
    with talking(web, 40) as run_id:
        watch(page, web, run_id)
        wait_for_points(page, 10)
        page.reload()
        expect(page.locator("#result-title")).to_be_visible()
        assert times(page) == all_times(40)
    page.reload()
    wait_for_points(page, 40)
    assert times(page) == all_times(40)


def test_a_sample_is_told_once_it_stands_in_the_chart(page, web):
    with held(web, 30, after=5) as talk:
        watch(page, web, talk.run_id)
        wait_for_points(page, 5)
        page.evaluate(
            """() => {
              window.told = [];
              document.addEventListener("pooldeck:sample", ({ detail, target }) => window.told.push(
                [detail.t, detail.at, Number(target.dataset.points),
                 window.pooldeckRun.stack.charts[0].chart.data.datasets[0].data.at(-1).x]));
            }"""
        )
        talk.go_on()
        expect(page.locator("#result-title")).to_be_visible()
    described = page.evaluate("window.told")
    assert [round(t, 3) for t, *_ in described] == all_times(30)[5:]
    assert all(drawn >= t and points >= round(t / EVERY_S) for t, _, points, drawn in described)
    assert abs(described[-1][1] / 1000 - time.time()) < 120


def test_single_points_between_gaps_are_dots(page, web):
    with talking(web, 8) as run_id:
        watch(page, web, run_id)
        expect(page.locator("#result-title")).to_be_visible()
    radii = "Chart.getChart(document.querySelector('[data-chart=\"%s\"] canvas'))"
    radii += ".getDatasetMeta(%s).data.map((point) => point.options.radius)"
    assert page.evaluate(radii % ("tps", 0)) == [0] * 8
    median = "Chart.getChart(document.querySelector('[data-chart=\"latency\"] canvas')).data.datasets"
    place = page.evaluate(f"{median}.findIndex(({{ data }}) => data.some(({{ y }}) => y === 0.9))")
    assert page.evaluate(radii % ("latency", place)) == [0, 0, 2.5, 0, 0, 2.5, 0, 0]


def test_the_log_is_filtered(page, web):
    with talking(web, 20) as run_id:
        watch(page, web, run_id)
        expect(page.locator("#result-title")).to_be_visible()
    expect(page.locator("[data-log]")).to_contain_text("line 20")
    page.fill("[data-log-filter]", "line 20")
    expect(page.locator("[data-log]")).to_have_text("line 20")
    page.fill("[data-log-filter]", "nowhere")
    expect(page.locator("[data-log-empty]")).to_have_text("No line contains “nowhere”.")


def test_dragging_zooms_all_charts_and_undo_brings_them_back(page, web):
    with talking(web, 40) as run_id:
        watch(page, web, run_id)
        expect(page.locator("#result-title")).to_be_visible()
    box = page.locator('[data-chart="tps"] canvas').bounding_box()
    page.locator('[data-chart="tps"] canvas').scroll_into_view_if_needed()
    box = page.locator('[data-chart="tps"] canvas').bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 60, steps=4)
    page.mouse.up()
    ranges = "window.pooldeckRun.stack.charts.map(({ chart }) => [chart.scales.x.min, chart.scales.x.max])"
    first, second = page.evaluate(ranges)
    assert first == second
    assert 0 < first[0] < first[1] < 4
    page.locator('[data-chart="latency"] [data-undo-zoom]').click()
    assert page.evaluate(ranges) == [[0, 4], [0, 4]]


def test_the_time_axes_of_all_charts_line_up(page, web):
    with talking(web, 5) as run_id:
        watch(page, web, run_id)
        expect(page.locator("#result-title")).to_be_visible()
    edges = page.evaluate("window.pooldeckRun.stack.charts.map(({ chart: { chartArea: a } }) => [a.left, a.right])")
    assert edges[0] == edges[1]

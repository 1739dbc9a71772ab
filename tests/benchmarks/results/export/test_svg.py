"""Lines over time as SVG."""

from benchmarks.results.export.svg import Line, draw


def test_a_line_goes_from_the_axes_to_the_top():
    drawing = draw("Throughput", "tps", [Line("tps", [(0, 0), (5, 50), (10, 100)])], 10)
    assert drawing is not None
    assert drawing.paths == (("tps", "M58.0 164.0L453.0 87.0L848.0 10.0"),)
    assert [text for _, text in drawing.x_ticks] == ["0 s", "2 s", "4 s", "6 s", "8 s", "10 s"]
    assert drawing.y_ticks == ((164.0, "0"), (87.0, "50"), (10.0, "100"))


def test_a_gap_breaks_the_line_and_a_line_of_nothing_is_left_out():
    gap = Line("a", [(0, 1.0), (1, None), (2, 1.0), (3, 1.0)])
    drawing = draw("Latency", "ms", [gap, Line("b", [(0, None), (1, 2.0)])], 3)
    assert drawing is not None
    assert [(label, path.count("M"), path.count("L")) for label, path in drawing.paths] == [("a", 2, 1)]


def test_nothing_to_draw_is_no_chart():
    assert draw("x", "y", [Line("a", [(0, 1.0)])], 10) is None
    assert draw("x", "y", [], 10) is None


def test_all_zero_is_drawn_on_the_ground():
    drawing = draw("Failed", "", [Line("a", [(0, 0.0), (1, 0.0)])], 1)
    assert drawing is not None
    assert drawing.paths[0][1].endswith("164.0")

"""The order of the runs."""

from benchmarks.experiments import order


def test_each_second_block_turns_the_one_before_round() -> None:
    found = order.blocks(["a", "b", "c"], 4, seed=7)
    assert all(sorted(block) == ["a", "b", "c"] for block in found)
    assert (found[1], found[3]) == (found[0][::-1], found[2][::-1])
    assert found == order.blocks(["a", "b", "c"], 4, seed=7)
    assert any(order.blocks(["a", "b", "c"], 4, seed=seed) != found for seed in range(5))

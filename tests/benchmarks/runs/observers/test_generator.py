"""Figures of a load's processes from two readings."""

from benchmarks.runs.observers.generator import Reading, figures
from benchmarks.runs.observers.procfs import HostTimes

BEFORE = Reading(10.0, {7: 1.0}, 2, HostTimes(idle=0, waiting=0, total=0), {8: 1.0, 9: 5.0})


def test_the_load_is_told_in_percent_of_one_core_and_of_what_its_threads_can_use():
    now = Reading(12.0, {7: 3.0}, 2, HostTimes(idle=100, waiting=20, total=400), {8: 2.9, 9: 5.2})
    assert figures(BEFORE, now, cores=4) == {
        "cpu_percent": 100.0,
        "busy_percent": 50.0,
        "threads": 2,
        "host_cpu_percent": 70.0,
        "pooler_cpu_percent": 95.0,
    }


def test_more_threads_than_cores_can_use_no_more_than_the_cores():
    now = Reading(11.0, {7: 2.8}, 16, BEFORE.host)
    assert figures(BEFORE, now, cores=2)["busy_percent"] == 90.0


def test_a_process_that_came_meanwhile_took_all_of_its_own():
    now = Reading(11.0, {7: 1.0, 12: 0.5}, 3, BEFORE.host)
    assert figures(BEFORE, now, cores=2)["cpu_percent"] == 50.0


def test_a_service_beside_the_load_is_told_apart_from_it():
    before = Reading(10.0, {7: 1.0}, 1, BEFORE.host, service={8: 3.0})
    found = figures(before, Reading(12.0, {7: 1.5}, 1, BEFORE.host, service={8: 4.9}), cores=2)
    assert (found["cpu_percent"], found["service_cpu_percent"]) == (25.0, 95.0)


def test_a_load_without_a_pooler_here_tells_none():
    found = figures(BEFORE, Reading(11.0, {7: 1.5}, 2, BEFORE.host), cores=2)
    assert not {"pooler_cpu_percent", "service_cpu_percent"} & set(found)
    assert found["host_cpu_percent"] is None

"""The pages of settings profiles without a server; with one: tests/live/benchmarks/runs/setup/test_profile_pages.py."""

from benchmarks.models import AppliedProfile, Run, SettingsProfile
from tests.callers import queries_of
from tests.pages import page_of
from tests.pools.records import a_cluster

LIST, CREATE, PROPOSE = "/settings-profiles/", "/settings-profiles/new/", "/settings-profiles/propose/"


def a_profile(name: str = "tuned", **values: str) -> SettingsProfile:
    return SettingsProfile.objects.create(name=name, values=values or {"work_mem": "16MB"})


def url(profile: SettingsProfile, *rest: str) -> str:
    return "/".join([f"/settings-profiles/{profile.pk}", *rest, ""])


def test_an_empty_list_says_the_next_step(staff):
    text = page_of(staff.get(LIST))
    assert "No profile yet" in text
    assert f'href="{PROPOSE}"' in text


def test_the_list_takes_the_same_queries_for_one_and_three(staff):
    a_profile()
    one = queries_of(staff, LIST)
    a_profile("a")
    a_profile("b")
    assert queries_of(staff, LIST) == one


def test_what_is_in_force_is_told(staff):
    cluster = a_cluster(name="demo")
    run = Run.objects.enqueue(cluster=cluster)
    AppliedProfile.objects.create(run=run, cluster=cluster, values={"work_mem": "9MB"}, error="it does not answer")
    text = page_of(staff.get(LIST))
    for part in ("In force on demo now", "work_mem = 9MB", "it does not answer"):
        assert part in text


def test_a_profile_is_made_changed_and_deleted(staff):
    answer = staff.post(CREATE, {"name": "tuned", "values": "work_mem = 16MB\n", "description": "more"})
    made = SettingsProfile.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, url(made))
    assert (made.name, made.values, made.description) == ("tuned", {"work_mem": "16MB"}, "more")
    staff.post(url(made, "edit"), {"name": "tuned", "values": "work_mem = 8MB", "description": ""})
    made.refresh_from_db()
    assert made.values == {"work_mem": "8MB"}
    assert "Delete tuned?" in page_of(staff.get(url(made, "delete")))
    staff.post(url(made, "delete"))
    assert not SettingsProfile.objects.exists()


def test_bad_lines_are_named_and_stay_typed(staff):
    answer = staff.post(CREATE, {"name": "tuned", "values": "work_mem 16 MB\nssl_cert_file = /etc/passwd"})
    assert answer.context["form"].errors["values"] == [
        "line 1: 'work_mem 16 MB' is not a setting: enter name = value, with quotes around a value with spaces"
    ]
    assert "ssl_cert_file = /etc/passwd" in page_of(answer)
    answer = staff.post(CREATE, {"name": "tuned", "values": "ssl_cert_file = /etc/passwd"})
    assert answer.context["form"].errors["values"] == [
        "ssl_cert_file could lock the panel out, or make the server read or run what it should not: leave it out"
    ]


def test_two_of_one_name_are_refused(staff):
    a_profile()
    answer = staff.post(CREATE, {"name": "tuned", "values": "work_mem = 16MB"})
    assert answer.context["form"].errors == {"name": ["the name 'tuned' is taken: choose another name"]}


def test_a_profile_in_force_is_not_deleted(staff):
    profile, cluster = a_profile(), a_cluster(name="demo")
    run = Run.objects.enqueue(cluster=cluster, options={"settings_profile": "tuned"})
    AppliedProfile.objects.create(run=run, cluster=cluster, values=profile.values)
    answer = staff.post(url(profile, "delete"), follow=True)
    assert f"tuned is in force on demo for {run}: wait until it has ended" in page_of(answer)
    assert SettingsProfile.objects.exists()


def test_a_check_against_a_cluster_that_does_not_answer_says_so(staff):
    text = page_of(staff.get(url(a_profile()), {"cluster": a_cluster().pk}))
    assert "connection refused" in text


def test_the_wizard_knows_a_clusters_machine_and_proposes(staff):
    cluster = a_cluster(memory_mb=8192, vcpus=4)
    form = staff.get(PROPOSE, {"cluster": cluster.pk}).context["form"]
    assert (form["memory_mb"].value(), form["cpus"].value()) == (8192, 4)
    machine = {"memory_mb": "8192", "cpus": "4", "disk": "ssd", "max_connections": "100"}
    text = page_of(staff.get(PROPOSE, machine))
    for part in ("shared_buffers = 2GB", "fits in memory", "Name and save it"):
        assert part in text
    text = page_of(staff.get(PROPOSE, machine | {"memory_mb": "512", "max_connections": "9000"}))
    assert "exceeds the memory by" in text


def test_the_wizard_takes_what_was_left_empty_from_the_cluster_that_was_chosen(staff):
    cluster = a_cluster(memory_mb=8192, vcpus=4)
    typed = {"cluster": cluster.pk, "memory_mb": "", "cpus": "2", "disk": "ssd", "max_connections": ""}
    answer = staff.get(PROPOSE, typed)
    assert answer.context["form"].errors == {}
    text = answer.context["text"].splitlines()
    for line in ("max_connections = 100", "shared_buffers = 2GB", "max_parallel_workers = 2"):
        assert line in text
    answer = staff.get(PROPOSE, typed | {"cluster": ""})
    assert list(answer.context["form"].errors) == ["memory_mb"]


def test_a_proposal_fills_the_form(staff):
    form = staff.get(CREATE, {"values": "work_mem = 16MB\n"}).context["form"]
    assert form["values"].value() == "work_mem = 16MB\n"


def test_readers_look_and_change_nothing(reader):
    profile = a_profile()
    assert [reader.get(address).status_code for address in (LIST, url(profile))] == [200, 200]
    for address in (CREATE, PROPOSE, url(profile, "edit"), url(profile, "delete")):
        assert reader.get(address).status_code == 403


def test_an_unknown_one_is_not_found(staff):
    profile = a_profile()
    profile.delete()
    assert staff.get("/settings-profiles/00000000-0000-0000-0000-000000000000/").status_code == 404


def test_a_machine_that_can_not_be_is_refused_with_its_figures(staff):
    machine = {"memory_mb": "64", "cpus": "5000", "disk": "tape", "max_connections": "many"}
    assert staff.get(PROPOSE, machine).context["form"].errors == {
        "memory_mb": ["64 is too little: use at least 128"],
        "cpus": ["5000 is too much: use at most 4096"],
        "disk": ["this disk is not there (any more): choose one of the list"],
        "max_connections": ["connections must be a whole number: enter one such as 10"],
    }

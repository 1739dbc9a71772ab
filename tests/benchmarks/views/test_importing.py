"""The paste box."""

from django.core.files.uploadedfile import SimpleUploadedFile

from benchmarks.models import Purpose, Run
from tests.pages import page_of

IMPORT = "/runs/import/"
OUTPUT = """\
pgbench (15.14 (Debian 15.14-0+deb12u1))
progress: 1.0 s, 100.0 tps, lat 2.000 ms stddev 0.100, 0 failed
progress: 2.0 s, 110.0 tps, lat 1.900 ms stddev 0.100, 0 failed
transaction type: <builtin: select only>
scaling factor: 1
query mode: simple
number of clients: 2
number of threads: 1
maximum number of tries: 1
duration: 2 s
number of transactions actually processed: 210
number of failed transactions: 0 (0.000%)
latency average = 1.950 ms
latency stddev = 0.100 ms
initial connection time = 3.340 ms
tps = 105.000000 (without initial connection time)
"""


def test_a_pasted_output_becomes_a_finished_run(staff):
    answer = staff.post(IMPORT, {"text": OUTPUT, "name": "db7"})
    run = Run.objects.get()
    assert answer.url == f"/runs/{run.pk}/"
    assert (run.name, run.purpose, run.summary["tps"], run.samples.count()) == ("db7", Purpose.IMPORT, 105.0, 2)
    assert staff.get(answer.url).status_code == 200


def test_what_is_no_output_stays_in_the_box_with_the_reason(staff):
    answer = staff.post(IMPORT, {"text": "hello <world>", "name": "db7"})
    assert answer.context["form"].errors["text"]
    assert "hello &lt;world&gt;" in page_of(answer)
    assert Run.objects.count() == 0


def test_an_empty_box_asks_for_a_text(staff):
    assert staff.post(IMPORT, {"text": ""}).context["form"].errors == {
        "text": ["output is needed: paste it, or choose a file"]
    }


def test_what_is_wrong_with_a_file_is_said_beside_it(staff):
    answer = staff.post(IMPORT, {"file": SimpleUploadedFile("output.txt", b"hello")})
    assert list(answer.context["form"].errors) == ["file"]
    both = staff.post(IMPORT, {"text": OUTPUT, "file": SimpleUploadedFile("output.txt", OUTPUT.encode())})
    assert both.context["form"].errors == {"file": ["this is output beside the pasted one: give one of them"]}
    assert Run.objects.count() == 0


def test_readers_may_not_import(reader):
    assert reader.post(IMPORT, {"text": OUTPUT}).status_code == 403

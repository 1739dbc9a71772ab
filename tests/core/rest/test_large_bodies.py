"""Bodies that are larger than the panel takes: the reason with the limit, in the shape of who asked."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.benchmarks.views.test_importing import IMPORT, OUTPUT
from tests.callers import bearer, person

pytestmark = pytest.mark.django_db
LIMIT = "2,621,440 bytes"
LARGE = "x" * 2_700_000
NOTICE = "NOTICE:  a line of the server\n"


@pytest.mark.parametrize("path", ["/api/v1/pools/", "/api/v1/runs/import/", "/api/v1/playbooks/", "/v2/databases"])
def test_both_apis_answer_in_json(path):
    answer = bearer().post(path, {"text": LARGE}, format="json")
    assert (answer.status_code, answer.headers["Content-Type"]) == (413, "application/json")
    assert LIMIT in str(answer.json())


@pytest.mark.parametrize("path", ["/api/v1/runs/", "/v2/databases"])
def test_what_no_view_meets_is_json_as_well(client, path):
    answer = client.get(path, headers={"Host": "nobody.example"})
    assert (answer.status_code, answer.headers["Content-Type"]) == (400, "application/json")


def test_a_page_answers_with_a_page(client):
    client.force_login(person())
    answer = client.post(IMPORT, f"text={LARGE}", content_type="application/x-www-form-urlencoded")
    assert (answer.status_code, LIMIT in answer.content.decode()) == (413, True)


def long_output(size):
    return SimpleUploadedFile("out.log", (NOTICE * (size // len(NOTICE)) + OUTPUT).encode())


def test_output_that_is_larger_is_imported_as_a_file(client):
    answer = bearer().post("/api/v1/runs/import/", {"file": long_output(3_000_000), "name": "db7"}, format="multipart")
    assert (answer.status_code, answer.json()["summary"]["tps"]) == (201, 105.0)
    client.force_login(person())
    assert client.post(IMPORT, {"file": long_output(1000)}).status_code == 302


def test_a_file_that_is_too_large_is_refused_with_the_limit(client, settings):
    settings.OUTPUT_CAP_BYTES = 100_000
    answer = bearer().post("/api/v1/runs/import/", {"file": long_output(200_000)}, format="multipart")
    assert (answer.status_code, "100,000 allowed" in str(answer.json())) == (400, True)
    client.force_login(person())
    assert "100,000 allowed" in client.post(IMPORT, {"file": long_output(200_000)}).content.decode()


@pytest.mark.parametrize("given", [{}, {"name": "x"}, {"text": OUTPUT, "file": long_output(1000)}])
def test_neither_text_nor_file_is_refused(given):
    answer = bearer().post("/api/v1/runs/import/", given, format="multipart")
    assert (answer.status_code, list(answer.json())) == (400, ["text"])

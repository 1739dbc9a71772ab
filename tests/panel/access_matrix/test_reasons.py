"""Each destructive operation takes a reason: a field of its form, or the header of its request."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import transaction
from django.test import Client
from django.urls import resolve

from benchmarks.models import Run, Script
from core.accounts.models import ApiToken, Scope
from core.accounts.routes import Route
from core.audit.connections import RecordingConnection
from core.audit.models import Entry
from tests import openapi
from tests.panel.access_matrix.addresses import address_of
from tests.panel.access_matrix.cells import ROUTES, is_for_machines
from tests.panel.access_matrix.conftest import Everything, everything

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("outside")]

SOUNDS_DESTRUCTIVE = re.compile(
    r"delete|remove|drop|revoke|kill|cancel|terminate|forget|let-go|take-over|rollback|return|detach|disable|demote|deactivate"
    r"|/reset|/end/|resume/$|unlink"
)
OWN = "what belongs to nobody else"
HARMLESS = {
    "post account/sessions/<int:pk>/end/": OWN,
    "post account/sessions/end-others/": OWN,
    "post account/app/remove/": OWN,
    "post account/passkeys/<int:pk>/remove/": OWN,
    "post account/provider/<int:pk>/unlink/": OWN,
    "post approvals/<uuid:pk>/approve/": "it has the reason of who asked",
    "delete api/v1/runs/<uuid:pk>/baseline/": "the run stays",
    "post api/v1/pools/<uuid:pk>/resume/": "lets clients go on",
    "post api/v1/entries/<uuid:pk>/resume/": "lets clients go on",
    "post api/v1/schedules/<uuid:pk>/resume/": "what starts then was asked for when it was saved",
    "post schedules/<uuid:pk>/resume/": "what starts then was asked for when it was saved",
    "post poolers/<uuid:pk>/let-go/row/": "takes GET alone",
    "post poolers/<uuid:pk>/take-over/row/": "takes GET alone",
}
DESTRUCTIVE = [route for route in ROUTES if route.is_destructive]
PAGES = [route for route in DESTRUCTIVE if not is_for_machines(route)]
API = [route for route in DESTRUCTIVE if is_for_machines(route)]
TEMPLATES = Path(settings.BASE_DIR) / "templates"
SENT = {"drift": "overwrite", "do": "remove"}  # what makes a POST of the pages with several buttons destroy something
FIELDS = ("{% reason_field", "{% ask_reason", "typed_delete.html")
ATTACH = "post poolers/<uuid:pk>/nodes/<int:number>/attach/: 502"  # the view of its opposite; nothing is there
FORM = re.compile(r"<form\b.*?</form>", re.DOTALL)


@pytest.fixture
def made(outside: None) -> Everything:
    return everything()


@pytest.fixture
def people(made: Everything) -> dict[str, User]:
    return made.people


@pytest.fixture
def records(made: Everything) -> dict[str, Any]:
    return made.records


@pytest.fixture
def admin(people: dict[str, User]) -> Client:
    browser = Client()
    browser.force_login(people["admin"])
    return browser


@pytest.fixture
def required(settings: Any) -> None:
    settings.REQUIRE_REASON = True


def kept() -> list[Entry]:
    """The entries that the commit would write."""
    return [one.entry for one in cast("RecordingConnection", transaction.get_connection()).kept]


def address(route: Route, records: dict[str, Any]) -> str:
    return address_of(route.path, records).replace("/console/pause/", "/console/kill/")


def name(route: Route) -> str:
    return f"{route.method} {route.path}"


def template(path: str) -> str:
    """The text of a template with those of what it includes and extends."""
    text = next(TEMPLATES.rglob(path)).read_text()
    for other in re.findall(r"{% (?:include|extends) \"([^\"]+)\"", text):
        text += template(other) if other != "base.html" else ""
    return text


def forms_of(route: Route, url_name: str) -> list[str]:
    """The forms that lead to an address by its name; else the whole page itself."""
    every = (path.read_text() for path in TEMPLATES.rglob("*.html"))
    heads = ((form, form.split("{% csrf")[0]) for text in every for form in FORM.findall(text))
    named = [form for form, head in heads if f"{{% url '{url_name}'" in head and 'method="get"' not in head]
    if named:
        return named
    view = inspect.unwrap(route.view)
    named_here = re.findall(r"\"([\w/]+\.html)\"", inspect.getsource(view))
    pages = named_here or re.findall(r"\"([\w/]+\.html)\"", inspect.getsource(inspect.getmodule(view) or object))
    return ["".join(template(page) for page in pages)]


def test_what_sounds_destructive_is_or_says_why_not() -> None:
    sounding = {
        name(one)
        for one in ROUTES
        if one.method == "delete" or (one.method == "post" and SOUNDS_DESTRUCTIVE.search(one.path))
    }
    assert sounding - {name(one) for one in DESTRUCTIVE} == set(HARMLESS) & sounding
    assert set(HARMLESS) <= {name(one) for one in ROUTES} - {name(one) for one in DESTRUCTIVE}
    assert (len(PAGES), len(API)) > (35, 35)


def test_each_form_that_destroys_something_has_the_field_or_asks(records: dict[str, Any]) -> None:
    without = []
    for route in PAGES:
        forms = forms_of(route, resolve(address(route, records).partition("?")[0]).view_name)
        if not forms or not all(any(field in form for field in FIELDS) for form in forms):
            without.append(name(route))
    assert without == []


@pytest.mark.usefixtures("required")
def test_each_page_asks_for_a_required_reason_and_keeps_what_was_sent(admin: Client, records: dict[str, Any]) -> None:
    before = len(kept())
    off = []
    for route in PAGES:
        sent = {**SENT, "name": "zqtyped", "audit_reason": " "}
        answer = admin.post(address(route, records), sent)
        page = answer.content.decode()
        if answer.status_code != 422 or 'value="zqtyped"' not in page or 'id="reason-error"' not in page:
            off.append(f"{name(route)}: {answer.status_code}")
    assert off == [ATTACH]
    assert {one.action for one in kept()[before:]} == {"pooler.attach_node"}


@pytest.mark.usefixtures("required")
def test_each_request_of_the_api_is_refused_without_a_required_reason(
    people: dict[str, User], records: dict[str, Any]
) -> None:
    token = ApiToken.objects.issue(people["admin"], "all", list(Scope))
    before = len(kept())
    off = []
    for route in API:
        send: Callable[..., Any] = getattr(Client(), route.method)
        words = {"headers": {"Authorization": f"Bearer {token}"}, "content_type": "application/json"}
        body = {"drift": "overwrite"} if route.path.endswith("/apply/") else {}
        answer = send(address(route, records), body, **words)
        if answer.status_code != 400 or "X-Reason" not in answer.content.decode():
            off.append(f"{name(route)}: {answer.status_code} {answer.content.decode()[:80]}")
        cache.clear()
    assert off == []
    assert len(kept()) == before


def test_the_description_lists_the_header_where_it_is_taken() -> None:
    described = {
        (method, re.sub(r"{\w+}", "{}", path))
        for path, operations in openapi.description()["paths"].items()
        for method, operation in operations.items()
        if any(one["name"] == "X-Reason" for one in operation.get("parameters", []))
    }
    assert described == {
        (one.method, "/" + re.sub(r"<[^>]+>", "{}", one.path)) for one in API if not one.path.startswith("v2/")
    }


@pytest.mark.parametrize(("reason", "status"), [("moved to the warehouse", 302), ("x" * 501, 422)])
@pytest.mark.usefixtures("required")
def test_a_reason_is_kept_with_the_act_and_has_a_length(
    admin: Client, records: dict[str, Any], reason: str, status: int
) -> None:
    script = Script.objects.get(pk=records["script"])
    sent = {"name": script.name, "audit_reason": f"  {reason}\n"}
    answer = admin.post(f"/scripts/{script.pk}/delete/", sent)
    assert answer.status_code == status
    reasons = [entry.reason for entry in kept() if entry.action == "script.delete"]
    assert reasons == ([reason] if status == 302 else [])


def test_a_button_of_a_list_asks_on_a_page_of_its_own(admin: Client, records: dict[str, Any]) -> None:
    address, before = f"/invitations/{records['invitation']}/revoke/", len(kept())
    asked = admin.post(address, {"ask_reason": "dana@example.org"}, headers={"Referer": "http://testserver/people/"})
    page = asked.content.decode()
    assert asked.status_code == 200
    assert "Revoke the invitation: dana@example.org?" in re.sub(r"\s+", " ", page)
    assert 'name="audit_reason"' in page
    assert 'href="http://testserver/people/"' in page
    assert len(kept()) == before
    admin.post(address, {"audit_reason": "left the company"})
    assert [(entry.action, entry.reason) for entry in kept()[before:]] == [("invitation.revoke", "left the company")]


@pytest.mark.usefixtures("required")
def test_ones_own_run_is_stopped_without_a_reason(people: dict[str, User], records: dict[str, Any]) -> None:
    browser = Client()
    browser.force_login(people["admin"])
    Run.objects.filter(pk=records["run"]).update(author=people["admin"])
    own = f"/runs/{records['run']}/cancel/"
    token = {"Authorization": f"Bearer {ApiToken.objects.issue(people['developer'], 'all', list(Scope))}"}
    assert browser.post(own).status_code == 302
    assert Client().post(f"/api/v1{own}", headers=token).status_code == 400


@pytest.mark.usefixtures("required")
def test_a_dry_run_destroys_nothing_and_needs_no_reason(admin: Client, records: dict[str, Any]) -> None:
    address = f"/api/v1/poolers/{records['pooler']}/take-over/"
    answer = admin.post(address, {"dry_run": True}, content_type="application/json")
    assert "X-Reason" not in answer.content.decode()


def test_a_header_is_read_as_utf_8(people: dict[str, User], records: dict[str, Any]) -> None:
    token = ApiToken.objects.issue(people["admin"], "all", list(Scope))
    reason = "Umzug nach Köln"
    headers = {"Authorization": f"Bearer {token}", "X-Reason": reason.encode().decode("latin-1")}
    assert Client().delete(f"/api/v1/pools/{records['pool']}/", headers=headers).status_code < 300
    assert [entry.reason for entry in kept() if entry.object_kind == "pool"][-1:] == [reason]

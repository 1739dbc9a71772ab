"""The pages of the script library: the list, a script with its versions, its editor, and its dry run."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from benchmarks.errors import InvalidOptions, InvalidTarget, QueueDown
from benchmarks.forms.library import DryRunForm, ScriptForm
from benchmarks.library.scripts import library
from benchmarks.library.scripts.library import InvalidScript
from benchmarks.models import Run, RunOutput, Script, ScriptVersion
from benchmarks.runs.submission import submit
from core.accounts.access import Access, find, needs
from core.accounts.people.ownership import chosen_team, offer_team
from core.accounts.permissions import person
from core.accounts.team_lists import of_team
from core.lib.errors import DomainError
from core.lib.query_params import id_of
from pools.deployment import diff

PAGE_SIZE = 50
VERSIONS_SHOWN = 50


@require_safe
@needs("script.view")
def script_list(request: HttpRequest) -> HttpResponse:
    """List scripts by name; `q` filters by name, description and newest text."""
    query = request.GET.get("q", "").strip().replace("\0", "")
    scripts = library.with_newest(of_team(request, Access.of(request).visible(Script.objects.select_related("team"))))
    if query:
        scripts = scripts.filter(Q(name__icontains=query) | Q(description__icontains=query) | Q(text__icontains=query))
    page = Paginator(scripts, PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "benchmarks/script_list.html", {"page": page, "query": query})


@require_safe
@needs("script.view")
def script_detail(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show a script in one of its versions (`version`), with a diff against another (`against`)."""
    script = find(request, Script.objects.all(), pk=pk)
    version = _version(script, request.GET.get("version"))
    return render(
        request,
        "benchmarks/script_detail.html",
        _shown(request, script, version, DryRunForm(access=Access.of(request))),
    )


def _version(script: Script, number: str | None) -> ScriptVersion:
    versions = script.versions.select_related("author")
    if not number:
        return get_object_or_404(versions.order_by("-number")[:1])
    return get_object_or_404(versions, number=int(number) if number.isdecimal() and len(number) < 10 else 0)


def _shown(request: HttpRequest, script: Script, version: ScriptVersion, form: DryRunForm) -> dict[str, object]:
    others = script.versions.exclude(pk=version.pk).select_related("author")
    number = request.GET.get("against", "")
    compared = others.filter(number=int(number)) if number.isdecimal() and len(number) < 10 else others.none()
    against = compared.first() or others.filter(number__lt=version.number).first()
    before = {script.name: against.text} if against else {}
    found = diff.of_files(before, {script.name: version.text}, masked=lambda texts: texts) if against else []
    return {
        "script": script,
        "version": version,
        "lines": version.text.removesuffix("\n").split("\n"),
        "versions": script.versions.select_related("author").defer("text")[:VERSIONS_SHOWN],
        "against": against,
        "diff": found,
        "newest": script.versions.order_by("-number").values_list("number", flat=True)[0],
        "form": form,
        **_tried(_run_named(request.GET.get("dry", ""), Access.of(request))),
    }


def _run_named(text: str, access: Access) -> Run | None:
    key = id_of(text)
    return access.visible(Run.objects.all()).filter(pk=key).first() if key else None


def _tried(run: Run | None) -> dict[str, object]:
    return {"dry": run, "output": RunOutput.objects.filter(run=run).first() if run else None}


@needs("script.change")
def script_create(request: HttpRequest) -> HttpResponse:
    """Show and save the editor of a new script."""
    form = offer_team(request, ScriptForm(request.POST or None), "script.change", is_preset=True)
    if request.method == "POST" and form.is_valid():
        try:
            team = chosen_team(request, form, "script.change")
            script = library.create(**form.cleaned_data, author=person(request.user), team=team)
        except InvalidScript as error:
            form.add_errors(error.errors)
        else:
            return redirect("script-detail", script.pk)
    return render(request, "benchmarks/script_form.html", {"form": form, "script": None})


@needs("script.change")
def script_edit(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show and save the editor of a script; a changed text becomes its next version."""
    script = find(request, Script.objects.all(), pk=pk)
    last = library.newest(script)
    initial = {"name": script.name, "description": script.description, "text": last.text}
    form = ScriptForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            library.change(script, **form.cleaned_data, author=person(request.user))
        except InvalidScript as error:
            form.add_errors(error.errors)
        else:
            return redirect("script-detail", script.pk)
    return render(request, "benchmarks/script_form.html", {"form": form, "script": script, "last": last})


@needs("script.change", destroys=gettext_lazy("Delete the script"))
def script_delete(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Delete a script once its name is typed; runs keep the text that they executed."""
    script = find(request, Script.objects.all(), pk=pk)
    typed = request.POST.get("name")
    if request.method == "POST" and typed == script.name:
        library.remove(script, author=person(request.user))
        messages.success(request, _("Script %(script)s was deleted; its runs keep their text.") % {"script": typed})
        return redirect("script-list")
    status = 422 if request.method == "POST" else 200
    return render(request, "benchmarks/script_delete.html", {"script": script, "typed": typed}, status=status)


@require_POST
@needs("run.start")
def script_try(request: HttpRequest, pk: UUID, number: int) -> HttpResponse:
    """Start a dry run of a version; the script's page then shows its result."""
    script = find(request, Script.objects.all(), pk=pk)
    version = get_object_or_404(script.versions.select_related("script"), number=number)
    form, status = DryRunForm(request.POST, access=Access.of(request)), 200
    if form.is_valid():
        run, status = _start(form, version, person(request.user), Access.of(request))
        if run is not None:
            here = reverse("script-detail", args=[pk])
            return redirect(f"{here}?version={number}&dry={run.pk}#dry-run")
    return render(request, "benchmarks/script_detail.html", _shown(request, script, version, form), status=status)


def _start(form: DryRunForm, version: ScriptVersion, author: User, access: Access) -> tuple[Run | None, int]:
    chosen = form.cleaned_data
    terms = {"variables": chosen["variables"] or None, "protocol": chosen["protocol"], "confirm": chosen["confirm"]}
    try:
        run_request = submit.dry_run_request(version, target=form.target(), author=author, access=access, **terms)
        return submit.submit(run_request)[0], 200
    except (InvalidTarget, InvalidOptions) as error:
        form.add_errors(error.errors)
    except DomainError as error:
        form.add_error(None, str(error))
        return None, 503 if isinstance(error, QueueDown) else 200
    return None, 200


@require_safe
@needs("run.view")
def script_tried(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render the state of a dry run; the page polls it until the run has ended."""
    return render(request, "benchmarks/includes/dry_run.html", _tried(find(request, Run.objects.all(), pk=pk)))

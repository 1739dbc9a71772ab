"""Pages of the console verbs on a pool or an entry: each explains one, asks for a confirmation, tells the outcome."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import HttpResponseClientRedirect

from core.accounts.access import Access, find, needs
from core.accounts.permissions import person
from pools.console import commands, show_cache
from pools.console.commands import NotPaused, Outcome, Target
from pools.errors import InvalidValues, PoolsError
from pools.forms.console import KillForm, PauseForm, VerbForm
from pools.models import Entry, Mode, Pool
from pools.monitoring import sampler
from pools.poolers import KINDS
from pools.poolers.admin_commands import Condition


@dataclass(frozen=True)
class Verb:
    """A verb as its page shows it; `question` names the pool or entry, `hurts` marks a verb that disturbs clients."""

    act: Callable[..., Outcome]
    label: str | Promise
    question: str | Promise
    does: str | Promise
    icon: str
    form: type[VerbForm] = VerbForm
    hurts: bool = False


VERBS: Mapping[str, Verb] = {
    "pause": Verb(
        commands.pause,
        _("Pause"),
        _("Pause %(pool)s?"),
        _(
            "Clients stay connected but get no server connection: each finishes its current transaction, then waits. "
            "For a failover or a restart of PostgreSQL that applications should not notice."
        ),
        "pause",
        PauseForm,
    ),
    "resume": Verb(commands.resume, _("Resume"), _("Resume %(pool)s?"), _("Waiting clients continue at once."), "play"),
    "reconnect": Verb(
        commands.reconnect,
        _("Reconnect"),
        _("Reconnect %(pool)s?"),
        _(
            "Each server connection is closed as soon as its client releases it, and reopened when needed. "
            "Use it after a change of DNS, certificates or server settings; clients notice nothing."
        ),
        "refresh",
    ),
    "disable": Verb(
        commands.disable,
        _("Disable"),
        _("Disable %(pool)s?"),
        _(
            "New clients are refused with an error; connected clients continue. A restart of PgBouncer enables the "
            "pool again."
        ),
        "lock",
        hurts=True,
    ),
    "enable": Verb(commands.enable, _("Enable"), _("Enable %(pool)s?"), _("New clients are accepted again."), "check"),
    "kill": Verb(
        commands.kill,
        _("Kill"),
        _("Kill %(pool)s?"),
        _(
            "Every client is disconnected and every server connection is closed at once, whatever they are doing: "
            "open transactions are lost."
        ),
        "stop",
        KillForm,
        hurts=True,
    ),
}


POOL_PAGES = {"list": "pool-list", "detail": "pool-detail", "verb": "pool-verb", "condition": "pool-condition"}
ENTRY_PAGES = {name: page.replace("pool-", "entry-") for name, page in POOL_PAGES.items()}


def _hurting(_request: HttpRequest, word: str, **_kwargs: object) -> str:
    """Return the label of a verb that disturbs clients, which takes a reason."""
    verb = VERBS.get(word)
    return str(verb.label) if verb and verb.hurts else ""


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@needs("pool.console", destroys=_hurting)
def pool_verb(request: HttpRequest, pk: UUID, word: str) -> HttpResponse:
    """Render the page of one verb and run it on POST; a refusal is shown with the console's own message."""
    pool = find(request, Pool.objects.select_related("pooler", "cluster"), pk=pk)
    return _verb_page(request, pool, word, POOL_PAGES)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@needs("entry.console", destroys=_hurting)
def entry_verb(request: HttpRequest, pk: UUID, word: str) -> HttpResponse:
    """Do the same with an entry that is not managed here; one that is a pool has the pages of that."""
    entry = find(request, Entry.objects.select_related("pooler", "cluster"), pk=pk)
    if entry.pool_id:
        return redirect("pool-verb", entry.pool_id, word)
    return _verb_page(request, entry, word, ENTRY_PAGES)


def _verb_page(request: HttpRequest, pool: Target, word: str, pages: Mapping[str, str]) -> HttpResponse:
    verb = VERBS.get(word)
    if verb is None:
        raise Http404(f"{word} is not a command of a console")
    form = verb.form(request.POST if request.method == "POST" else None)
    context: dict[str, object] = {
        "pool": pool,
        "verb": verb,
        "word": word,
        "form": form,
        **condition_context(pool, pages),
    }
    context["question"] = str(verb.question) % {"pool": pool}
    context |= {"is_session": pool.mode == Mode.SESSION, "figures": sampler.latest(pool.pooler).figures.get(pool.name)}
    status = 200
    if request.method == "POST" and form.is_valid():
        try:
            outcome = verb.act(pool, author=person(request.user), **form.values())
        except InvalidValues as error:
            for field, errors in error.errors.items():
                form.add_error(field, errors)
        except PoolsError as error:
            context |= {"refused": str(error), "blockers": getattr(error, "blockers", None)}
            context |= condition_context(pool, pages) if not isinstance(error, NotPaused) else {}
            status = error.status
        else:
            messages.success(request, outcome.detail)
            return redirect(pages["detail"], pool.pk)
    return render(request, "pools/pool_verb.html", context, status=status)


@require_safe
@needs("pool.view")
def pool_condition(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render the card that shows whether the pool is paused or disabled, with the buttons that change it.

    Redirect to the list once the pool is gone, as the live card does.
    """
    pool = Access.of(request).visible(Pool.objects.select_related("pooler")).filter(pk=pk).first()
    if pool is None:
        return HttpResponseClientRedirect(reverse("pool-list"))
    return render(request, "pools/includes/pool_condition.html", {"pool": pool, **condition_context(pool)})


@require_safe
@needs("entry.view")
def entry_condition(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render the same card of an entry; redirect to the list once the entry is gone."""
    entry = Access.of(request).visible(Entry.objects.select_related("pooler")).filter(pk=pk).first()
    if entry is None:
        return HttpResponseClientRedirect(reverse("entry-list"))
    context = {"pool": entry, **condition_context(entry, ENTRY_PAGES)}
    return render(request, "pools/includes/pool_condition.html", context)


def condition_context(pool: Target, pages: Mapping[str, str] = POOL_PAGES) -> dict[str, object]:
    """Return the card's context: the condition, the seconds until it resumes, the verbs that apply now and `pages`."""
    has_console = bool(KINDS[pool.pooler.kind].verbs)
    condition = show_cache.condition(pool) if has_console else None
    left_s = (pool.paused_until - timezone.now()).total_seconds() if pool.paused_until else None
    return {
        "pages": pages,
        "has_console": has_console,
        "condition": condition,
        "resumes_in_s": max(0, round(left_s)) if left_s is not None else None,
        "verbs": [(name, VERBS[name]) for name in _applicable(condition)],
    }


def _applicable(condition: Condition | None) -> list[str]:
    if condition is None:
        return []
    paused = "resume" if condition.paused else "pause"
    return [paused, "reconnect", "enable" if condition.disabled else "disable", "kill"]

"""Pages of hosts that are reached by SSH; for owners of teams alone."""

from collections.abc import Iterator
from functools import partial
from typing import TypedDict
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.db.models import F, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from core.accounts.access import Access, find, needs
from core.accounts.people.ownership import chosen_team, offer_team
from core.accounts.permissions import person
from core.accounts.team_lists import of_team
from core.lib.addresses import is_local
from core.lib.long_lists import LongList
from pools.config_files import deliveries
from pools.errors import HostUnreachable, IllegalTransition, InvalidValues
from pools.forms.hosts import HostForm
from pools.hosts import keys
from pools.hosts.base import HostRefused
from pools.inventory import hosts
from pools.models import FoundPooler, Host, HostState, Pooler, PoolerKind
from pools.poolers import KINDS
from pools.views.form_submit import attempt
from pools.views.offered import offer

PAGE_SIZE = 50
ANY_ADDRESS = {"0.0.0.0", "::"}  # noqa: S104 (what a pooler listens on, not the panel)
LOOPBACK = "127.0.0.1"


@require_safe
@needs("host.view")
def host_list(request: HttpRequest) -> HttpResponse:
    """List the hosts that the panel reaches by SSH."""
    rows = Access.of(request).choices(Host.objects.select_related("jump", "team"), "host.view")
    page = LongList(of_team(request, rows), PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "pools/host_list.html", {"page": page})


@never_cache
@require_safe
@needs("host.view")
def host_detail(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show a host: what has to be done there, whose key it has, and which programs and poolers were found."""
    host = _get(request, pk)
    context = {
        "host": host,
        "line": keys.authorized_keys_line(host),
        "pinned": {"type": keys.type_of(host.host_key), "fingerprint": keys.fingerprint(host.host_key)},
        "offered": {
            "type": keys.type_of(host.offered_host_key),
            "fingerprint": keys.fingerprint(host.offered_host_key),
        },
        "found": list(_found_poolers(host)),
    }
    return render(request, "pools/host_detail.html", context)


@never_cache
@needs("host.create")
def host_create(request: HttpRequest) -> HttpResponse:
    """Render and accept the form of a new host."""
    form = offer(request, HostForm(request.POST or None), jump="host.use")
    offer_team(request, form, "host.create")
    if request.method == "POST" and form.is_valid():
        team = chosen_team(request, form, "host.create")
        tried = attempt(form, partial(hosts.register, form.values(), person(request.user), team=team))
        if tried.saved:
            messages.success(request, _("Host %(host)s is saved, and has a key of its own.") % {"host": tried.saved})
            return redirect("host-detail", tried.saved.pk)
    return render(request, "pools/host_form.html", {"form": form})


@never_cache
@needs("host.change")
def host_edit(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render and accept the form of an existing host; a stale edit answers 409 with both values."""
    host = _get(request, pk)
    form = HostForm(request.POST or None, instance=_get(request, pk))  # it writes into its instance
    offer(request, form, jump="host.use")
    context: dict[str, object] = {"form": form, "host": host}
    status = 200
    if request.method == "POST" and form.is_valid():
        verb = partial(hosts.change, host, form.values(), form.cleaned_data["version"], person(request.user))
        tried = attempt(form, verb, current=host)
        if tried.saved:
            messages.success(request, _("Host %(host)s is saved.") % {"host": host})
            return redirect("host-detail", pk)
        context, status = context | tried.context, tried.status
    return render(request, "pools/host_form.html", context, status=status)


@require_POST
@needs("host.change")
def host_check(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Log in to the host and show what the check found."""
    host = _get(request, pk)
    hosts.check(host)
    if host.state == HostState.ONLINE:
        messages.success(request, _("The panel logged in to %(host)s.") % {"host": host})
    elif host.state == HostState.UNREACHABLE:
        messages.error(request, _("The check failed: %(reason)s") % {"reason": host.error})
    return redirect("host-detail", pk)


@require_POST
@needs("host.change")
def host_confirm(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Pin the key whose fingerprint was shown."""
    host = _get(request, pk)
    try:
        hosts.confirm_host_key(host, request.POST.get("fingerprint", ""), person(request.user))
    except InvalidValues as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("The key of %(host)s is confirmed.") % {"host": host})
    return redirect("host-detail", pk)


@require_POST
@needs("host.change")
def host_discover(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Find the poolers that run there."""
    host = _get(request, pk)
    try:
        found = hosts.discover(host)
    except (HostUnreachable, HostRefused) as error:
        messages.error(request, str(error))
    else:
        text = ngettext("%(count)d pooler runs on %(host)s.", "%(count)d poolers run on %(host)s.", len(found))
        messages.success(request, text % {"count": len(found), "host": host})
    return redirect("host-detail", pk)


@needs("host.remove", destroys=gettext_lazy("Unregister the host"))
def host_delete(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Delete the record of a host after its name was typed."""
    host = _get(request, pk)
    context: dict[str, object] = {"host": host, "typed": request.POST.get("name")}
    if request.method == "POST" and context["typed"] == host.name:
        try:
            hosts.remove(host)
        except IllegalTransition as error:
            return render(request, "pools/host_delete.html", context | {"refused": str(error)}, status=error.status)
        else:
            text = _("Host %(host)s was removed from the panel: take its line out of authorized_keys there.")
            messages.success(request, text % {"host": host.name})
            return redirect("host-list")
    return render(request, "pools/host_delete.html", context, status=422 if request.method == "POST" else 200)


def _get(request: HttpRequest, pk: UUID) -> Host:
    return find(request, Host.objects.select_related("jump"), pk=pk)


class _Links(TypedDict):
    """The URLs of a found pooler's buttons; empty for none."""

    watch: str
    take_over: str


def _found_poolers(host: Host) -> Iterator[dict[str, object]]:
    """Yield each found pooler with its label, who has registered it already, and where its buttons lead."""
    is_there = Q(ssh_host=host) | Q(host=host.address, ssh_host=None)
    # the last of a port counts: the one that is reached by this host, whichever way a database sorts NULL
    there = Pooler.objects.filter(is_there).order_by(F("ssh_host").asc(nulls_first=True))
    known = {(one.kind, one.port): one for one in there}
    for found in host.found:
        registered = next((known[key] for port in found["ports"] if (key := (found["kind"], port)) in known), None)
        label = PoolerKind(found["kind"]).label
        yield {**found, "label": label, "registered": registered, **_links(host, found, registered)}


def _links(host: Host, found: FoundPooler, registered: Pooler | None) -> _Links:
    """Return the addresses of the form that watches a found pooler, and of what takes it over."""
    taking = {"config_file": found["main_file"], "host": host.pk}
    if registered:
        can_be_taken = registered.is_watched and not KINDS[registered.kind].take_over_obstacle(registered)
        preview = f"{reverse('pooler-take-over', args=[registered.pk])}?{urlencode(taking)}"
        return {"watch": "", "take_over": preview if can_be_taken else ""}
    port = next(iter(found["ports"]), "")
    name = host.name if len(host.found) == 1 else f"{host.name}-{port or found['kind']}"
    filled = {"name": name, "kind": found["kind"], "port": port, **_address_of(host, found), **_control(found)}
    watch = f"{reverse('pooler-create')}?{urlencode(filled)}"
    can_be_taken = not KINDS[found["kind"]].take_over_obstacle(Pooler(kind=found["kind"]))
    return {
        "watch": watch,
        "take_over": f"{watch}&{urlencode({'take_over': found['main_file']})}" if can_be_taken else "",
    }


def _address_of(host: Host, found: FoundPooler) -> dict[str, object]:
    """Return the address at which the panel reaches a found pooler, and the host that leads there."""
    by_ssh = {"delivery": deliveries.name_for(host), "ssh_host": host.pk}
    addresses = found.get("addresses")
    if addresses == [] and found["socket_folders"]:
        return {**by_ssh, "host": found["socket_folders"][0]}
    if not addresses or ANY_ADDRESS.intersection(addresses):
        behind = {"host": LOOPBACK, "client_host": host.address}  # Only the host's own network may reach it.
        return {**by_ssh, **(behind if host.jump_id else {"host": host.address})}
    return {**by_ssh, "host": min(addresses, key=is_local)}


def _control(found: FoundPooler) -> dict[str, object]:
    """Return by what else than the port of its clients a found pooler is asked."""
    kind, sockets, ports = KINDS[found["kind"]], found.get("control_sockets", []), found["ports"]
    filled: dict[str, object] = {}
    if sockets and not kind.has_console_login:
        filled["stats_address"] = sockets[0]
    if kind.control_port and len(ports) == 2:
        filled["pcp_port"] = ports[1]
    return filled

"""Pages of events and their thresholds, and the test message of the notification channels."""

from typing import TypedDict
from uuid import UUID

from django.contrib import messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from core.accounts.access import Access, find, needs
from core.accounts.models import Scope
from core.accounts.permissions import person, user_holds
from core.lib.long_lists import LongList
from pools.errors import InvalidValues
from pools.forms.thresholds import ThresholdsForm
from pools.inventory import notification_channels
from pools.models import Channel, Event, EventKind, NotificationChannel
from pools.monitoring import channels, notice_delivery, notifications, thresholds

PAGE_SIZE = 50
STATES = [("open", gettext_lazy("open")), ("closed", gettext_lazy("closed"))]


@require_safe
@needs("event.view")
def event_list(request: HttpRequest) -> HttpResponse:
    """List the events, filtered by subject or message (`q`), `state` and `kind`."""
    page = LongList(_found(request), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "chosen": request.GET,
        "kinds": EventKind.choices,
        "states": STATES,
        "open_count": Access.of(request).visible(Event.objects.ongoing()).count(),
        "is_filtered": any(request.GET.get(name) for name in ("q", "state", "kind")),
        "channels": [shown_name(one) for one in channels.configured()],
    }
    return render(request, "pools/event_list.html", context)


def _found(request: HttpRequest) -> QuerySet[Event]:
    rows = Access.of(request).visible(Event.objects.reportable())
    if query := request.GET.get("q", "").strip():
        words = Q(message__icontains=query) if user_holds(request.user, Scope.ADMIN) else Q()  # it may be private
        rows = rows.filter(Q(subject_name__icontains=query) | words)
    if (kind := request.GET.get("kind")) in EventKind.values:
        rows = rows.filter(kind=kind)
    if (state := request.GET.get("state")) in ("open", "closed"):
        rows = rows.filter(closed_at__isnull=state == "open")
    return rows


@require_POST
@needs("event.acknowledge")
def event_acknowledge(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Record that the user has acknowledged an event."""
    event = find(request, Event.objects.reportable(), pk=pk)
    event.acknowledge(person(request.user))
    return redirect(f"{request.POST.get('next') or ''}" if _is_ours(request.POST.get("next")) else "event-list")


def _is_ours(address: str | None) -> bool:
    return bool(address) and str(address).startswith("/events/")


@needs("threshold.change")
def event_thresholds(request: HttpRequest) -> HttpResponse:
    """Render and accept the thresholds at which events open and close."""
    form = ThresholdsForm(request.POST or None)
    context: dict[str, object] = {"form": form, "channels": _channels()}
    if request.method == "POST" and form.is_valid():
        try:
            thresholds.change(form.rules())
        except InvalidValues as error:
            form.blame(error)
        else:
            messages.success(request, _("The thresholds are saved; they apply from the next check on."))
            return redirect("event-thresholds")
    return render(request, "pools/thresholds.html", context)


@require_POST
@needs("threshold.change")
def event_test(request: HttpRequest) -> HttpResponse:
    """Send a test message through each configured channel and report the results."""
    configured = channels.configured()
    for channel in configured:
        named = {"channel": shown_name(channel)}
        if reason := notifications.test(channel.code):
            failed = _("The test by %(channel)s did not arrive: %(reason)s")
            messages.error(request, failed % (named | {"reason": reason}))
        else:
            messages.success(request, _("The test by %(channel)s was accepted.") % named)
    if not configured:
        unset = _(
            "No channel is configured: add one, or set POOLDECK_WEBHOOK_URL, or POOLDECK_EMAIL_HOST and "
            "POOLDECK_EMAIL_TO."
        )
        messages.warning(request, unset)
    return redirect("event-thresholds")


class ChannelRow(TypedDict):
    """A channel on the page of thresholds."""

    channel: NotificationChannel
    label: str
    has_address: bool
    fault: str


def _channels() -> list[ChannelRow]:
    faults = notice_delivery.faults()
    return [
        {
            "channel": one,
            "label": shown_name(one),
            "has_address": channels.has_address(one),
            "fault": faults.get(one.code, ""),
        }
        for one in notification_channels.everything()
    ]


def shown_name(channel: NotificationChannel) -> str:
    """Return a channel's name; of one of the environment in the reader's language."""
    return str(Channel(channel.service).label) if channel.is_of_environment else channel.name

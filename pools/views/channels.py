"""Pages of the channels of notices; for administrators alone, since they are told of every team's events."""

from functools import partial
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from core.accounts.access import needs
from core.accounts.permissions import person
from core.lib.chat_services import SERVICES
from pools.errors import IllegalTransition
from pools.forms.channels import ChannelForm
from pools.inventory import notification_channels
from pools.models import NotificationChannel
from pools.monitoring import notifications
from pools.views.events import shown_name
from pools.views.form_submit import attempt


@never_cache
@needs("channel.change")
def channel_create(request: HttpRequest) -> HttpResponse:
    """Render and accept the form of a new channel."""
    form = ChannelForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        tried = attempt(form, partial(notification_channels.register, form.values(), person(request.user)))
        if tried.saved:
            messages.success(request, _("Channel %(channel)s is saved: send a test.") % {"channel": tried.saved})
            return redirect("event-thresholds")
    return render(request, "pools/channel_form.html", {"form": form, "services": SERVICES})


@never_cache
@needs("channel.change")
def channel_edit(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render and accept the form of a channel; a stale edit answers 409 with both values."""
    channel = _get(pk)
    form = ChannelForm(request.POST or None, instance=_get(pk))  # it writes into its instance
    context: dict[str, object] = {"form": form, "channel": channel, "services": SERVICES}
    status = 200
    if request.method == "POST" and form.is_valid():
        verb = partial(
            notification_channels.change, channel, form.values(), form.cleaned_data["version"], person(request.user)
        )
        tried = attempt(form, verb, current=channel)
        if tried.saved:
            messages.success(request, _("Channel %(channel)s is saved.") % {"channel": channel})
            return redirect("event-thresholds")
        context, status = context | tried.context, tried.status
    return render(request, "pools/channel_form.html", context, status=status)


@require_POST
@needs("channel.change")
def channel_test(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Send a test message over one channel, and tell what the other side answered."""
    channel = _get(pk)
    if reason := notifications.test(channel.code):
        failed = _("The test by %(channel)s did not arrive: %(reason)s")
        messages.error(request, failed % {"channel": shown_name(channel), "reason": reason})
    else:
        messages.success(request, _("The test by %(channel)s was accepted.") % {"channel": shown_name(channel)})
    return redirect("event-thresholds")


@needs("channel.change", destroys=gettext_lazy("Remove the channel"))
def channel_delete(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Remove a channel after its name was typed."""
    channel = _get(pk)
    context: dict[str, object] = {"channel": channel, "typed": request.POST.get("name")}
    if request.method == "POST" and context["typed"] == channel.name:
        try:
            notification_channels.remove(channel)
        except IllegalTransition as error:
            return render(request, "pools/channel_delete.html", context | {"refused": str(error)}, status=error.status)
        messages.success(request, _("Channel %(channel)s was removed.") % {"channel": channel})
        return redirect("event-thresholds")
    return render(request, "pools/channel_delete.html", context, status=422 if request.method == "POST" else 200)


def _get(pk: UUID) -> NotificationChannel:
    channel = notification_channels.find(pk)
    if channel is None:
        raise Http404
    return channel

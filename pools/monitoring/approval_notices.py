"""Tells those who can approve a request that it waits, and who asked for it how it ended."""

import logging
import uuid

from django.conf import settings
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from pools.approvals import outlook
from pools.approvals.errors import page_of
from pools.models import ApprovalMoment, ApprovalNotice, ApprovalRequest, Channel, Severity, SubjectType
from pools.monitoring import channels
from pools.monitoring.channels import DeliveryFailed
from pools.monitoring.letters import EventMessage, Letter
from pools.monitoring.notifications import ATTEMPTS, LEASE, pause_after

logger = logging.getLogger(__name__)

AT_MOST = 50  # notices of one call


def send_due() -> None:
    """Close requests whose time is over, then send each notice that is due; one that fails is sent again later."""
    ApprovalRequest.objects.expire()
    for notice in _due().select_related("approval__cluster", "approval__requester")[:AT_MOST]:
        if _claim(notice):
            _send(notice)


def _due() -> QuerySet[ApprovalNotice]:
    return ApprovalNotice.objects.filter(sent_at=None, due_at__lte=timezone.now(), attempts__lt=ATTEMPTS)


def _claim(notice: ApprovalNotice) -> bool:
    """Take a notice on; False where another worker did. It keeps its id, so that one sent twice is known as such."""
    notice.batch = notice.batch or uuid.uuid4()
    values = {"batch": notice.batch, "due_at": timezone.now() + LEASE, "attempts": F("attempts") + 1}
    return _due().filter(pk=notice.pk).update(**values) == 1


def _send(notice: ApprovalNotice) -> None:
    rows = ApprovalNotice.objects.filter(pk=notice.pk)
    try:
        for letter in _letters(notice):
            channels.send(notice.channel, letter)
    except DeliveryFailed as error:
        rows.update(due_at=timezone.now() + pause_after(notice.attempts + 1), error=str(error))
        logger.warning("notice of request %s not sent by %s: %s", notice.approval_id, notice.channel, error)
    else:
        rows.update(sent_at=timezone.now(), error="")


def _letters(notice: ApprovalNotice) -> list[Letter]:
    """Return the messages: one for the webhook, one for each person by e-mail; none where nobody is left to tell."""
    request = notice.approval
    if notice.moment == ApprovalMoment.ASKED and not request.is_pending:
        return []
    message = as_json(request, ApprovalMoment(notice.moment))
    batch = notice.batch or uuid.uuid4()
    if notice.channel == Channel.WEBHOOK:
        return [Letter(batch, [message])]
    return [Letter(uuid.uuid5(batch, address), [message], to=[address]) for address in _addresses(notice)]


def _addresses(notice: ApprovalNotice) -> list[str]:
    request = notice.approval
    if notice.moment == ApprovalMoment.DECIDED:
        return [request.requester.email] if request.requester and request.requester.email else []
    return sorted({user.email for user in outlook.approvers(request) if user.email})


def as_json(request: ApprovalRequest, moment: ApprovalMoment) -> EventMessage:
    """Return a request as webhooks receive it, in the shape of an event about its cluster; never a password."""
    return {
        "id": str(request.pk),
        "moment": str(moment),
        "kind": "approval",
        "title": request.text,
        "severity": str(Severity.WARNING),
        "subject": {
            "type": str(SubjectType.CLUSTER),
            "id": str(request.cluster_id or ""),
            "name": request.cluster_name,
        },
        "value": None,
        "message": _asked(request) if moment == ApprovalMoment.ASKED else _decided(request),
        "opened_at": request.created_at.isoformat(),
        "closed_at": request.decided_at.isoformat() if request.decided_at else None,
        "url": f"{settings.PUBLIC_URL}{page_of(request)}",
    }


def _asked(request: ApprovalRequest) -> str:
    words = {"name": request.requester_name, "until": f"{request.expires_at:%Y-%m-%d %H:%M %Z}"}
    text = _("%(name)s asks for it. Approve or reject it until %(until)s at the address below.") % words
    return f"{text} {_('Reason: %(reason)s') % {'reason': request.reason}}" if request.reason else text


def _decided(request: ApprovalRequest) -> str:
    words = {"name": request.requester_name, "state": request.get_state_display(), "by": request.decided_by}
    if not request.decided_by:
        return _("Asked for by %(name)s: %(state)s.") % words
    return _("Asked for by %(name)s: %(state)s; %(by)s decided.") % words

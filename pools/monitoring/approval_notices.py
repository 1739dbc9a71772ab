"""Tells those who can approve a request that it waits, and who asked for it how it ended."""

import uuid

from django.conf import settings
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from pools.approvals import outlook
from pools.approvals.errors import page_of
from pools.models import ApprovalMoment, ApprovalNotice, ApprovalRequest, Channel, Severity, SubjectType
from pools.monitoring import notice_delivery
from pools.monitoring.letters import EventMessage, Letter

AT_MOST = 50  # notices of one call


def send_due() -> None:
    """Close requests whose time is over, then send each notice that is due; one that fails is sent again later."""
    ApprovalRequest.objects.expire()
    for notice in _due().select_related("approval__cluster", "approval__requester")[:AT_MOST]:
        if _claim(notice):
            _send(notice)


def _due() -> QuerySet[ApprovalNotice]:
    return notice_delivery.due(ApprovalNotice.objects.all())


def _claim(notice: ApprovalNotice) -> bool:
    """Take a notice on; False where another worker did. It keeps its id, so that one sent twice is known as such."""
    notice.batch = notice.batch or uuid.uuid4()
    return notice_delivery.claim(_due().filter(pk=notice.pk), notice.batch) == 1


def _send(notice: ApprovalNotice) -> None:
    rows = ApprovalNotice.objects.filter(pk=notice.pk)
    notice_delivery.send(rows, notice.channel, _letters(notice), notice.attempts + 1)


def _letters(notice: ApprovalNotice) -> list[Letter]:
    """Return the message, none where nobody is left to tell.

    By e-mail it is one to all of them: a mail server that refuses one address keeps nobody else from being told, and
    another attempt tells nobody twice.
    """
    request = notice.approval
    if notice.moment == ApprovalMoment.ASKED and not request.is_pending:
        return []
    message = as_json(request, ApprovalMoment(notice.moment))
    batch = notice.batch or uuid.uuid4()
    if notice.channel == Channel.WEBHOOK:
        return [Letter(batch, [message])]
    addresses = _addresses(notice)
    return [Letter(batch, [message], to=addresses)] if addresses else []


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

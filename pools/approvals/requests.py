"""Requests for a second person: asked for once, approved or rejected by another, carried out exactly as asked."""

import json
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ObjectDoesNotExist
from django.db import IntegrityError, transaction
from django.db.models import Model
from django.utils.translation import gettext as _

from core.accounts import operations
from core.accounts.access import Access
from core.accounts.models import ApiToken
from core.audit import actors
from core.audit.models import ActorKind
from core.lib.errors import DomainError
from pools.approvals import arguments
from pools.approvals.acts import HeldAct
from pools.approvals.arguments import Arguments
from pools.approvals.errors import AlreadyDecided, NoLongerFits, NotYours
from pools.models import ApprovalMoment, ApprovalNotice, ApprovalRequest, ApprovalState, Cluster


@dataclass(frozen=True)
class Verb:
    """An act, and the function that carries it out without asking again."""

    act: HeldAct
    carry_out: Callable[..., object]


VERBS: dict[str, Verb] = {}
_approved: ContextVar[bool] = ContextVar("approved_act", default=False)


def is_carrying_out() -> bool:
    """Tell whether what runs now was approved, with whatever it consists of."""
    return _approved.get()


def ask(act: HeldAct, given: Arguments, cluster: Cluster) -> ApprovalRequest:
    """Return the pending request for this act, a new one unless it was asked for already."""
    ApprovalRequest.objects.expire()
    digest = arguments.digest_of(act.verb, given)
    actor = actors.current().who()
    request = ApprovalRequest(
        cluster=cluster,
        cluster_name=cluster.name,
        verb=act.verb,
        operation=act.operation,
        subject=str(act.record(given))[:300],
        text=act.text(given),
        digest=digest,
        fingerprint=_fingerprint(act, given),
        reason=actors.current().reason[:500],
        requester=_person_of(actor),
        requester_name=actor.name,
    )
    request.arguments = arguments.encoded(given)
    try:
        with transaction.atomic():
            if known := ApprovalRequest.objects.pending().filter(digest=digest).first():
                return known
            request.save(force_insert=True)
            ApprovalNotice.of(request, ApprovalMoment.ASKED)
    except IntegrityError:  # the same was asked for at the same time
        return ApprovalRequest.objects.pending().get(digest=digest)
    return request


def approve(request: ApprovalRequest, access: Access) -> ApprovalRequest:
    """Carry the act out, once, in the name of both; the request then says how it ended.

    Raises `NotYours`, `AlreadyDecided` and `NoLongerFits`, and what asking the server for the record's state raises.
    """
    given = _given(request)
    if refused := refusal(request, access, given):
        raise refused
    verb = VERBS[request.verb]
    if given is None or _fingerprint(verb.act, given) != request.fingerprint:
        text = _("what it is about has changed since it was asked for: ask for it again")
        request.close(ApprovalState.STALE, outcome=text)
        ApprovalNotice.of(request, ApprovalMoment.DECIDED)
        raise NoLongerFits(text)
    if not request.close(ApprovalState.APPROVED, by=_name()):
        raise _decided(request)
    try:
        _carry_out(request, verb, given)
    finally:
        ApprovalNotice.of(request, ApprovalMoment.DECIDED)
    return request


def reject(request: ApprovalRequest, access: Access) -> ApprovalRequest:
    """Close it with nothing done; who asked for it withdraws it. Raises `NotYours` and `AlreadyDecided`."""
    is_own = request.requester_id is not None and request.requester_id == getattr(access.user, "pk", None)
    if not is_own and (refused := refusal(request, access, _given(request))):
        raise refused
    if not request.close(ApprovalState.WITHDRAWN if is_own else ApprovalState.REJECTED, by=_name()):
        raise _decided(request)
    if not is_own:
        ApprovalNotice.of(request, ApprovalMoment.DECIDED)
    return request


def waiting_for(access: Access) -> list[ApprovalRequest]:
    """Return the pending requests that this person can decide on; each page asks, and mostly there are none."""
    pending = access.visible(ApprovalRequest.objects.pending())
    if not pending.exists():
        return []
    with_records = pending.select_related("cluster__approval_rules", "requester")
    return [one for one in with_records if may_decide(one, access)]


def may_decide(request: ApprovalRequest, access: Access) -> bool:
    """Tell whether this person can approve or reject it now."""
    return refusal_for(request, access) is None


def refusal_for(request: ApprovalRequest, access: Access) -> NotYours | AlreadyDecided | None:
    """Return why this person can't decide on it; None where they can."""
    return refusal(request, access, _given(request))


def refusal(request: ApprovalRequest, access: Access, given: Arguments | None) -> NotYours | AlreadyDecided | None:
    """Return why this person can't decide on it; None where they can."""
    user = access.user
    if not request.is_pending:
        return _decided(request)
    if not isinstance(user, User) or request.requester_id in (None, user.pk):
        return NotYours(_("a second person has to decide: you asked for it yourself, or with a token of yours"))
    if access.token is not None and access.token.team_id is not None:
        return NotYours(_("a token of a team can't be the second person: use one of your own"))
    if user.date_joined > request.created_at:
        return NotYours(_("your account is younger than this request: somebody else has to decide"))
    record = _record(request, given)
    operation = operations.named(request.operation)
    if record is not None and not access.has_role(operation, record):
        return NotYours(access.refusal(operation, record))
    if not access.may(request.operation, record):
        return NotYours(_("this needs the scope %(scope)s, which the token lacks") % {"scope": operation.scope})
    return None


def _record(request: ApprovalRequest, given: Arguments | None) -> Model | None:
    return VERBS[request.verb].act.record(given) if given is not None else request.cluster


def _given(request: ApprovalRequest) -> Arguments | None:
    """Return its arguments; None where a record of them is gone."""
    if request.verb not in VERBS:
        return None
    try:
        return arguments.decoded(request.arguments, VERBS[request.verb].carry_out)
    except ObjectDoesNotExist:
        return None


def _carry_out(request: ApprovalRequest, verb: Verb, given: Arguments) -> None:
    token = _approved.set(True)
    try:
        with actors.for_another(request.requester_name, request.reason):
            result = verb.carry_out(**given)
    except DomainError as error:
        request.finish(ApprovalState.FAILED, str(error))
    except BaseException as error:
        request.finish(ApprovalState.FAILED, _("an internal error: %(kind)s") % {"kind": type(error).__name__})
        raise
    else:
        request.finish(ApprovalState.DONE, str(getattr(result, "detail", "")))
    finally:
        _approved.reset(token)


def _fingerprint(act: HeldAct, given: Arguments) -> str:
    return json.dumps(act.state(given), sort_keys=True, default=str)


def _decided(request: ApprovalRequest) -> AlreadyDecided:
    state = ApprovalState.EXPIRED if request.state == ApprovalState.PENDING else ApprovalState(request.state)
    return AlreadyDecided(_("this request is closed: %(state)s") % {"state": state.label})


def _person_of(actor: actors.Actor) -> Any:  # noqa: ANN401 (a user or None)
    """Return the person who acts, or whose token does; of a team's token who made it, so that they are no second."""
    if actor.kind == ActorKind.TOKEN:
        token = ApiToken.objects.select_related("user", "made_by").filter(pk=actor.id).first()
        return (token.made_by or token.user) if token else None
    return User.objects.filter(pk=actor.id).first() if actor.kind == ActorKind.PERSON else None


def _name() -> str:
    return actors.current().who().name

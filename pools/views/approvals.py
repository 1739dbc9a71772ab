"""Pages of acts that wait for a second person, and of a cluster's rules for them."""

from collections.abc import Callable
from functools import partial
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from core.accounts.access import Access, find, needs
from core.accounts.permissions import person
from core.lib.errors import DomainError
from pools.approvals import requests, rules
from pools.approvals.errors import HeldBack, page_of
from pools.forms.approvals import ApprovalRulesForm
from pools.models import ApprovalRequest, ApprovalState, Cluster
from pools.views.form_submit import attempt

PAGE_SIZE = 50


class HeldBackPages(MiddlewareMixin):
    """Leads from a page whose act is held back to the request that waits for a second person."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Redirect; the REST framework answers the API's itself."""
        if not isinstance(exception, HeldBack):
            return None
        messages.warning(request, _("Nothing was done yet: this needs a second person, who can approve it here."))
        address = page_of(exception.approval)
        is_partial = getattr(request, "htmx", False)
        return HttpResponseClientRedirect(address) if is_partial else HttpResponseRedirect(address)


@require_safe
@needs("approval.view")
def approval_list(request: HttpRequest) -> HttpResponse:
    """List what waits for a second person, then what was decided, the latest first."""
    ApprovalRequest.objects.expire()
    access = Access.of(request)
    rows = access.visible(ApprovalRequest.objects.select_related("cluster__approval_rules"))
    pending = list(rows.pending())
    decided = rows.exclude(pk__in=[one.pk for one in pending])
    context = {
        "pending": [_row(one, access) for one in pending],
        "page": Paginator(decided, PAGE_SIZE).get_page(request.GET.get("page")),
    }
    return render(request, "pools/approval_list.html", context)


@require_safe
@needs("approval.view")
def approval_detail(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show one request: what was asked for, by whom and why, and what became of it."""
    ApprovalRequest.objects.expire()
    return render(request, "pools/approval_detail.html", _context(_found(request, pk), Access.of(request)))


@require_POST
@needs("approval.decide")
def approval_approve(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Carry out what was asked for, in the name of both."""
    return _decide(request, _found(request, pk), requests.approve)


@require_POST
@needs("approval.decide")
def approval_reject(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Close the request with nothing done."""
    return _decide(request, _found(request, pk), requests.reject)


@never_cache
@needs("cluster.view", post="cluster.change")
def cluster_approvals(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show and change which acts on the cluster need a second person."""
    cluster = find(request, Cluster.objects.select_related("status"), pk=pk)
    form = ApprovalRulesForm(request.POST or None, rules=rules.of_cluster(cluster))
    context: dict[str, object] = {"cluster": cluster, "form": form}
    if request.method == "POST" and form.is_valid():
        verb = partial(rules.change, cluster, **form.cleaned_data, author=person(request.user))
        tried = attempt(form, verb)
        if tried.saved:
            messages.success(request, _("What needs a second person on %(cluster)s is saved.") % {"cluster": cluster})
            return redirect("cluster-detail", pk)
        context |= tried.context
    return render(request, "pools/cluster_approvals.html", context)


def _found(request: HttpRequest, pk: UUID) -> ApprovalRequest:
    return find(request, ApprovalRequest.objects.select_related("cluster__approval_rules"), pk=pk)


def _row(approval: ApprovalRequest, access: Access) -> dict[str, object]:
    """Return the request, whether this person asked for it, and why they can't decide on it, if they can't."""
    is_own = approval.requester_id is not None and approval.requester_id == getattr(access.user, "pk", None)
    refused = requests.refusal_for(approval, access) if approval.is_pending else None
    return {"approval": approval, "is_own": is_own, "refused": str(refused or "")}


def _context(approval: ApprovalRequest, access: Access) -> dict[str, object]:
    row = _row(approval, access)
    return {**row, "row": row}


def _decide(
    request: HttpRequest,
    approval: ApprovalRequest,
    decide: Callable[[ApprovalRequest, Access], ApprovalRequest],
) -> HttpResponse:
    try:
        decided = decide(approval, Access.of(request))
    except DomainError as error:
        context = _context(approval, Access.of(request)) | {"failed": str(error)}
        return render(request, "pools/approval_detail.html", context, status=error.status)
    if decided.state == ApprovalState.DONE:
        messages.success(request, _("Approved, and done: %(text)s.") % {"text": decided.text})
    elif decided.state == ApprovalState.FAILED:
        messages.error(request, _("Approved, but it failed: %(reason)s") % {"reason": decided.outcome})
    else:
        messages.info(request, _("Closed; nothing was done."))
    return redirect(page_of(decided) if decided.cluster_id else "approval-list")  # its cluster may be gone now

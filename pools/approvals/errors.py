"""Answers to an act that waits, and to a decision that can't be made."""

from typing import TYPE_CHECKING

from django.urls import reverse
from django.utils.translation import gettext as _

from core.lib.errors import DomainError
from pools.errors import PoolsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pools.models import ApprovalRequest


class HeldBack(DomainError):
    """Nothing was done: the act waits for a second person. No `PoolsError`, so that no page takes it for a failure."""

    status = 202

    def __init__(self, approval: "ApprovalRequest") -> None:
        text = _("cluster %(cluster)s needs a second person for this, so nothing was done yet: it waits at %(address)s")
        super().__init__(text % {"cluster": approval.cluster_name, "address": page_of(approval)})
        self.approval = approval

    def response_body(self) -> "Mapping[str, object]":
        """Return the sentence, and the address of the request in the API."""
        address = reverse("api-approval-detail", args=[self.approval.pk])
        return {"detail": str(self), "approval": {"id": str(self.approval.pk), "url": address}}


class NotYours(PoolsError):
    """The person may not decide on this request."""

    status = 403


class AlreadyDecided(PoolsError):
    """The request is no longer pending."""

    status = 409


class NoLongerFits(PoolsError):
    """The record changed since the act was asked for."""

    status = 409


def page_of(approval: "ApprovalRequest") -> str:
    """Return the address of the page of a request."""
    return reverse("approval-detail", args=[approval.pk])

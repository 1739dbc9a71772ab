"""Tokens for the programs that fetch a pooler's files, and how far what each fetched is verified."""

import logging
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.accounts.models import ApiToken, Scope, digest
from pools.models import FileFetch, Pooler, Revision, RevisionState

logger = logging.getLogger(__name__)

SHOWN = 50


class FetchState(models.TextChoices):
    """The state of the files that a token fetched last."""

    NEVER = "never", _("never fetched")
    FIRST = "first", _("files to start with")
    OUTDATED = "outdated", _("older files")
    PENDING = "pending", _("pending")
    VERIFIED = "verified", _("verified")


@dataclass(frozen=True)
class Fetcher:
    """A token that reads a pooler's files, with what it fetched last."""

    token: ApiToken
    state: FetchState
    revision: int | None = None
    fetched_at: datetime | None = None
    asked_at: datetime | None = None


def issue_token(pooler: Pooler, user: User, name: str = "", expires_at: datetime | None = None) -> tuple[ApiToken, str]:
    """Create a token that reads the files of this pooler and nothing else; return it and its text, told only once.

    Raises `IllegalTransition` for a watched pooler.
    """
    pooler.require_managed()
    text = ApiToken.objects.issue(user, name or usual_name(pooler), [Scope.APPLY], expires_at, limited_to=pooler.pk)
    token = ApiToken.objects.select_related("user").get(digest=digest(text))
    logger.info("token %s for the files of pooler %s issued by %s", token.pk, pooler.pk, user)
    return token, text


def usual_name(pooler: Pooler) -> str:
    """Return the name of a token that was given none."""
    return (gettext("files of %(pooler)s") % {"pooler": pooler})[: ApiToken._meta.get_field("name").max_length]


def of(pooler: Pooler) -> list[Fetcher]:
    """Return the tokens that fetched its files, the latest first, and the limited ones that never did."""
    revision = Revision.objects.wanted_on(pooler)
    noted = list(pooler.fetches.select_related("token__user", "revision")[:SHOWN])
    fetched = [_fetcher(one, revision) for one in noted]
    unused = ApiToken.objects.usable().select_related("user").filter(limited_to=pooler.pk)
    unused = unused.exclude(pk__in=[one.token_id for one in noted])
    return [*fetched, *(Fetcher(one, FetchState.NEVER) for one in unused[:SHOWN])]


def _fetcher(noted: FileFetch, wanted: Revision | None) -> Fetcher:
    number = noted.revision.number if noted.revision else None
    return Fetcher(noted.token, _state(noted, wanted), number, noted.fetched_at, noted.asked_at)


def _state(noted: FileFetch, wanted: Revision | None) -> FetchState:
    if wanted is None:
        return FetchState.FIRST
    if noted.revision_id != wanted.pk:
        return FetchState.OUTDATED
    return FetchState.PENDING if wanted.state == RevisionState.PENDING else FetchState.VERIFIED

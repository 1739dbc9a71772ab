"""What the caller of a request may see and do: by their roles in teams, and by the scopes of their token."""

from collections.abc import Callable, Iterator
from functools import cached_property, partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from core.accounts import operations, reasons
from core.accounts.models import ApiToken, LimitKind, Membership, OwnedByTeam, Role, Team
from core.accounts.operations import Audience, Operation
from core.lib.counted_in_parts import CountedInParts, Parts

if TYPE_CHECKING:  # rest_framework.views imports the permissions, which stand on this module
    from rest_framework.request import Request

M = TypeVar("M", bound=Model)
Rows = TypeVar("Rows", bound=QuerySet[Any])
View = Callable[..., HttpResponseBase]
SAFE = ("GET", "HEAD", "OPTIONS")


class Access:
    """What a user may see and do, in this request with this token if there is one.

    It reads the memberships once, when first asked for them; administrators of the installation have no need of any.
    """

    needed: tuple[Operation, ...] = ()  # this request does these; `find` checks each record for them

    def __init__(self, user: object, token: ApiToken | None = None) -> None:
        self.user, self.token = user, token
        self._shares: dict[type[Model], dict[Any, Role]] = {}

    @classmethod
    def by(cls, user: object, token: ApiToken | None = None) -> "Access":
        """Return the access of a user, with this token if there is one: a limited one of a token that is limited."""
        return LimitedAccess(user, token) if token is not None and token.is_limited else cls(user, token)

    @classmethod
    def of(cls, request: "HttpRequest | Request") -> "Access":
        """Return the access of this request's caller, which the request keeps."""
        kept_by: Any = getattr(request, "_request", request)
        token = getattr(request, "auth", None)
        found = cls.by(request.user, token if isinstance(token, ApiToken) else None)
        known = getattr(kept_by, "_access", None)
        if isinstance(known, Access) and (known.user, known.token) == (found.user, found.token):
            return known
        kept_by._access = found
        return found

    @property
    def is_admin(self) -> bool:
        """True for administrators of the installation."""
        return isinstance(self.user, User) and self.user.is_staff

    @cached_property
    def roles(self) -> dict[UUID, Role]:
        """The user's role in each of their teams, by the team's id."""
        return {team: role for team, role, _alone in self._memberships}

    @property
    def owned_teams(self) -> list[UUID]:
        """The teams that the user is an owner of."""
        return [team for team, role in self.roles.items() if role.includes(Role.OWNER)]

    @cached_property
    def sees_all(self) -> bool:
        """True for administrators, and for members of the only team."""
        return self.is_admin or any(alone for _team, _role, alone in self._memberships)

    @cached_property
    def has_several_teams(self) -> bool:
        """True if the installation has more than one team, so that pages name them."""
        if self._memberships:
            return not self._memberships[0][2]
        return Team.objects.count() > 1

    @cached_property
    def _memberships(self) -> list[tuple[UUID, Role, bool]]:
        if not isinstance(self.user, User) or self.is_admin:
            return []
        if self.token is not None and self.token.team_id is not None:  # its account is no member of anything
            has_others = Team.objects.exclude(pk=self.token.team_id).exists()
            return [(self.token.team_id, Role(self.token.role), not has_others)]
        others = Exists(Team.objects.exclude(pk=OuterRef("team_id")))
        rows = Membership.objects.filter(user=self.user).annotate(others=others).order_by("team_id")
        return [(row.team_id, Role(row.role), not row.others) for row in rows]

    def may(self, name: str, record: Model | None = None) -> bool:
        """Tell whether the caller may do this to the record; without one, to some record of some team."""
        operation = operations.named(name)
        if self.token is not None and not self.token.allows(operation.scope):
            return False
        return self.has_role(operation, record)

    def require(self, name: str, record: Model) -> None:
        """Raise `PermissionDenied`, with the role that it takes, where the caller may not do this to the record."""
        if not self.may(name, record):
            raise PermissionDenied(self._why_not(operations.named(name), record))

    def _why_not(self, operation: Operation, record: Model) -> str:
        if self.token is not None and not self.token.allows(operation.scope) and self.has_role(operation, record):
            return token_lacks(operation.scope)
        return self.refusal(operation, record)

    def has_role(self, operation: Operation, record: Model | None = None) -> bool:
        """Tell whether the user may do this, whatever the token allows."""
        needed = operation.role_on(record)
        if isinstance(needed, Audience):
            return self._is_of(needed)
        if self.is_admin:
            return True
        if record is None or self.sees_all:
            return any(role.includes(needed) for role in self.roles.values())
        holds = [self._holds(needed, owner) for owner in owners_of(record)]
        return any(holds) if operation.only_reads else bool(holds) and all(holds)

    def visible(self, rows: Rows) -> Rows:
        """Return those that the user may see; of administrators and of members of the only team, the same query."""
        if self.sees_all:
            return rows
        found = rows.filter(self.condition(rows.model))
        return found.in_parts(self._parts(rows.model)) if isinstance(found, CountedInParts) else found

    def _parts(self, model: type[Model]) -> Parts | None:
        """Return what gives the condition of a model in parts of which a row fulfils one at most, if it has any."""
        parts = getattr(model, "parts_visible_to", None)
        return partial(parts, self) if parts else None

    def condition(self, model: type[Model]) -> Q:
        """Return the condition for rows of a model that the user may see, in subqueries, so that no row comes twice."""
        if self.sees_all or getattr(model, "seen_by_all", False):
            return Q()
        if issubclass(model, Team):
            return Q(pk__in=list(self.roles))
        if issubclass(model, OwnedByTeam):
            shares, key = shares_of(model)
            shared = shares.filter(team_id__in=list(self.roles)).values(key)
            return Q(team_id__in=list(self.roles)) | Q(pk__in=shared)
        if condition := getattr(model, "visible_to", None):
            return Q(condition(self))
        found = Q(pk__in=[])
        for path in belongs_to(model):
            found |= Q(**{f"{path}__in": self.visible(_related(model, path)._default_manager.all()).values("pk")})
        return found

    def choices(self, rows: Rows, name: str) -> Rows:
        """Return those of records with a team that a form may offer for this operation, by the roles of its user."""
        if self.is_admin or not issubclass(rows.model, OwnedByTeam):
            return rows
        needed = operations.named(name).role_on(None)
        fitting = [team for team, role in self.roles.items() if isinstance(needed, Role) and role.includes(needed)]
        found = Q(team__in=fitting)
        if needed is not Role.OWNER:
            shares, key = shares_of(rows.model)
            found |= Q(pk__in=shares.filter(team_id__in=fitting).values(key))
        return rows.filter(found)

    def teams(self, name: str) -> QuerySet[Team]:
        """Return the teams in which the user may do this, to choose from where something new is to belong to one."""
        if self.is_admin:
            return Team.objects.all()
        needed = operations.named(name).role_on(None)
        fitting = [team for team, role in self.roles.items() if isinstance(needed, Role) and role.includes(needed)]
        return Team.objects.filter(pk__in=fitting)

    def refused_on(self, record: Model) -> Operation | None:
        """Return which of the operations of this request the user may not do to the record; None: they may do all."""
        return next((operation for operation in self.needed if not self.has_role(operation, record)), None)

    def refuse(self, record: Model, needed: tuple[Operation, ...]) -> None:
        """Raise `PermissionDenied` where the user may not do all of this to the record."""
        for operation in needed:
            if not self.has_role(operation, record):
                raise PermissionDenied(self.refusal(operation, record))

    def refusal(self, operation: Operation, record: Model | None = None) -> str:
        """Return the sentence that names the role which the operation takes, and who can give it."""
        needed = operation.role_on(record)
        if not isinstance(needed, Role):
            return _("only administrators may do this")
        if record is None or self.sees_all:
            text = _("this needs the role %(role)s in a team: an owner of the team or an administrator can give it")
            return text % {"role": needed.label}
        teams = sorted({str(owner if isinstance(owner, Team) else owner.team) for owner in owners_of(record)})
        text = _(
            "this needs the role %(role)s for %(record)s: an owner of %(teams)s or an administrator can give it to you"
        )
        return text % {"role": needed.label, "record": record, "teams": ", ".join(teams)}

    def _is_of(self, audience: Audience) -> bool:
        if audience is Audience.USERS:
            return isinstance(self.user, User)
        return audience is Audience.ANYONE or self.is_admin

    def _holds(self, needed: Role, owner: "OwnedByTeam | Team") -> bool:
        """Tell whether the user has the role in the team of a record, or in one that it is shared with."""
        team = owner.pk if isinstance(owner, Team) else owner.team_id
        own = self.roles.get(team) if team else None
        if own and own.includes(needed):
            return True
        if isinstance(owner, Team) or needed is Role.OWNER:
            return False
        shared = self._shared(type(owner)).get(owner.pk)
        return shared is not None and shared.includes(needed)

    def _shared(self, model: type[OwnedByTeam]) -> dict[Any, Role]:
        """Return the user's highest role on each record that is shared with their teams, in one query for a model."""
        if model not in self._shares:
            shares, key = shares_of(model)
            pairs = shares.filter(team_id__in=list(self.roles)).values_list(key, "team_id")
            found: dict[Any, Role] = {}
            for record, team in pairs:
                found[record] = max(found.get(record, Role.VIEWER), self.roles[team], key=lambda role: role.rank)
            self._shares[model] = found
        return self._shares[model]


class LimitedAccess(Access):
    """What a token that is limited to one record may see and do: that record, and what belongs to it.

    It is less than the token could without the limit: one that was edited, or whose record is gone, leaves nothing.
    """

    is_admin = False
    sees_all = False

    def __init__(self, user: object, token: ApiToken) -> None:
        super().__init__(user, token)
        self.unlimited = Access(user, token)

    @cached_property
    def roles(self) -> dict[UUID, Role]:
        """None: what belongs to a team and to no record, such as imported runs, is not seen."""
        return {}

    @cached_property
    def has_several_teams(self) -> bool:
        """As without the limit."""
        return self.unlimited.has_several_teams

    @property
    def kind(self) -> str:
        """The kind of the record that the token is limited to; an edited one may be none that there is."""
        return self.token.limit_kind if self.token else ""

    def has_role(self, operation: Operation, record: Model | None = None) -> bool:
        """Tell whether the table has the operation for such tokens, and the record is within the limit."""
        reads = operation.only_reads and self.kind != LimitKind.FILES
        if not (reads or self.kind in operation.limits):
            return False
        return self.unlimited.has_role(operation, record) and (record is None or self._has(record))

    def condition(self, model: type[Model]) -> Q:
        """Return the condition for rows that the user may see, and that are the record or belong to it."""
        if model is limited_model(self.kind):
            return self.unlimited.condition(model) & Q(pk=self.token.limited_to if self.token else None)
        if issubclass(model, OwnedByTeam | Team):
            return Q(pk__in=[])
        if within := getattr(model, "within_limit", None):
            return self.unlimited.condition(model) & Q(within(self))
        return super().condition(model)

    def _parts(self, model: type[Model]) -> None:
        """Return none: what belongs to the record that the token is limited to is one part, and small."""

    def choices(self, rows: Rows, name: str) -> Rows:
        """Return those within the limit that the user could choose without it."""
        return self.visible(self.unlimited.choices(rows, name))

    def teams(self, name: str) -> QuerySet[Team]:
        """Return none: nothing that belongs to a team is made with such a token."""
        return Team.objects.none()

    def refusal(self, operation: Operation, record: Model | None = None) -> str:
        """Return the sentence that names the limit, unless the role is what is missing."""
        if self.kind == LimitKind.FILES:
            return _("the token is limited to the files of one pooler: use another token for this")
        if self.unlimited.has_role(operation, record):
            return _("the token is limited to one %(kind)s: use another token for this") % {"kind": self.kind}
        return self.unlimited.refusal(operation, record)

    def _has(self, record: Model) -> bool:
        return self.visible(type(record)._default_manager.filter(pk=record.pk)).exists()


def token_lacks(scope: str) -> str:
    """Return the sentence that names the scope which a token lacks."""
    return _("this needs the scope %(scope)s, which the token lacks: create one with it at /tokens/") % {"scope": scope}


def limited_model(kind: str) -> type[Model] | None:
    """Return the model of the records that tokens of this kind of limit are limited to; None for an unknown kind."""
    name = settings.LIMITS_OF_TOKENS.get(kind)
    return apps.get_model(name) if name else None


def shares_of(model: type[OwnedByTeam]) -> tuple[QuerySet[Model], str]:
    """Return which records of a model are shared with which teams, and the name of the column of the record."""
    through = model.shared_with.through
    return through._default_manager.all(), f"{model.shared_with.field.m2m_field_name()}_id"


def used_by(model: type[OwnedByTeam], team: UUID | None) -> Q:
    """Return the condition for records of a model that a team has, or that are shared with it."""
    shares, key = shares_of(model)
    return Q(team=team) | Q(pk__in=shares.filter(team_id=team).values(key))


def belongs_to(model: type[Model]) -> tuple[str, ...]:
    """Return the fields of a model that lead to what its rows belong to, as the model declares in `belongs_to`."""
    found: tuple[str, ...] = getattr(model, "belongs_to", ())
    return found


def owners_of(record: Model) -> Iterator[OwnedByTeam | Team]:
    """Yield the records with a team that this one belongs to, such as a pool's cluster and its pooler."""
    if isinstance(record, OwnedByTeam | Team):
        yield record
        return
    for path in belongs_to(type(record)):
        if above := getattr(record, path):
            yield from owners_of(above)


def _related(model: type[Model], path: str) -> type[Model]:
    related = model._meta.get_field(path).related_model
    if not isinstance(related, type):
        raise TypeError(f"{path} of {model} leads nowhere")
    return related


def require(request: "HttpRequest | Request", name: str, record: Model | None = None) -> None:
    """Let the request do this, and nothing else; raises `PermissionDenied` where its caller may not."""
    access = Access.of(request)
    operation = operations.named(name)
    access.needed = (operation,)
    if not access.may(name, record):
        raise PermissionDenied(access.refusal(operation, record))


def find(request: "HttpRequest | Request", rows: QuerySet[M], **lookup: object) -> M:
    """Return the record of these rows on which the request's operation is allowed.

    404 where there is none, or where the caller does not see it; 403 where they see it and may not do this.
    """
    access = Access.of(request)
    record = get_object_or_404(access.visible(rows), **lookup)
    access.refuse(record, access.needed)
    return record


def allow(request: "HttpRequest | Request", *records: Model | None, to: str = "") -> None:
    """Let the request do what it does with all of these, such as the cluster and the pooler of a new pool.

    `to` names another operation that the choice of these takes. None stands for a choice that was not made. Raises
    `Http404` for a record that the caller does not see, `PermissionDenied` where they may not do this to it.
    """
    access = Access.of(request)
    if access.is_admin:
        return
    for record in records:
        if record is not None:
            found = get_object_or_404(access.visible(type(record)._default_manager.all()), pk=record.pk)
            access.refuse(found, (operations.named(to),) if to else access.needed)


def needs(name: str, *, post: str = "", destroys: "reasons.Destroys" = "") -> Callable[[View], View]:
    """Let only those in who may do this; what takes a POST may be another operation than what shows the page.

    The view looks its records up with `find`, which holds the operation against each of them. `destroys` says what a
    POST destroys, in the words of its button; a function is asked with the request and the arguments of the view, and
    returns an empty text where this POST destroys nothing. See `core.accounts.reasons`.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            is_read = request.method in SAFE
            require(request, name if is_read else post or name)
            asking = None if is_read or not destroys else reasons.page(request, destroys, kwargs)
            return asking or view(request, *args, **kwargs)

        guarded.operations = {"get": name, "post": post or name}  # type: ignore[attr-defined]  # for `routes`
        guarded.destroys = destroys  # type: ignore[attr-defined]  # for `routes`
        return guarded

    return decorate

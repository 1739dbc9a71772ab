"""The page on which an owner moves a record to another of their teams, or shares it with others."""

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.forms.boundfield import BoundWidget
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from core.accounts.access import Access, find, needs
from core.accounts.models import OwnedByTeam, Team
from core.accounts.people import ownership
from core.accounts.people.errors import InvalidValues


class OwnershipForm(forms.Form):
    """The team of a record, out of those that its user owns, and the others that see and use it."""

    team = forms.ModelChoiceField(Team.objects.none(), label=gettext_lazy("Team"), empty_label=None)
    shared_with = forms.ModelMultipleChoiceField(
        Team.objects.none(),
        label=gettext_lazy("Shared with"),
        required=False,
        widget=forms.CheckboxSelectMultiple({"class": "form-check-input"}),
    )

    def __init__(self, data: object, owned: OwnedByTeam, access: Access) -> None:
        shared = list(owned.shared_with.all())
        super().__init__(data, initial={"team": owned.team_id, "shared_with": shared})  # type: ignore[arg-type]
        seen = access.visible(Team.objects.all())
        self.fields["team"].queryset = access.teams("team.members")  # type: ignore[attr-defined]
        self.fields["shared_with"].queryset = seen  # type: ignore[attr-defined]
        self._unseen = set(shared) - set(seen)

    @property
    def others(self) -> list[BoundWidget]:
        """The boxes of the teams beside the chosen one, which sees the record anyway."""
        chosen = str(self["team"].value())
        return [box for box in self["shared_with"].subwidgets if str(box.data["value"]) != chosen]

    @property
    def shared(self) -> set[Team]:
        """The chosen teams, and those that the user does not see, which stay."""
        return {*self.cleaned_data["shared_with"], *self._unseen}


@require_http_methods(["GET", "HEAD", "POST"])
@needs("team.members")
def team_of(request: HttpRequest, kind: str, pk: str) -> HttpResponse:
    """Render and accept the team of a record; moving it takes an owner in both teams, and a confirmation."""
    model = ownership.model_of(kind)
    if model is None:
        raise Http404
    owned = _found(request, model, pk)
    form = OwnershipForm(request.POST if request.method == "POST" else None, owned, Access.of(request))
    context: dict[str, object] = {"form": form, "record": owned, "detail": ownership.WITH_PAGE[kind]}
    context["has_parts"] = kind in ownership.WITH_PARTS
    if form.is_valid():
        team, shared = form.cleaned_data["team"], form.shared
        if team == owned.team or "confirm" in request.POST:
            if _is_placed(form, owned, team, shared):
                text = _("%(record)s belongs to %(team)s.")
                messages.success(request, text % {"record": owned, "team": owned.team})
                return redirect(ownership.WITH_PAGE[kind], owned.address_key)
        else:
            context |= {"to": team, "losing": ownership.losing(owned, team, shared)}
    return render(request, "accounts/team_of.html", context, status=422 if form.is_bound else 200)


def _found(request: HttpRequest, model: type[OwnedByTeam], key: str) -> OwnedByTeam:
    try:
        return find(request, model._default_manager.select_related("team"), **{model.address_field: key})
    except ValidationError:  # it is no id
        raise Http404 from None


def _is_placed(form: OwnershipForm, owned: OwnedByTeam, team: Team, shared: set[Team]) -> bool:
    try:
        ownership.place(owned, team, shared)
    except InvalidValues as error:
        for name, messages_of_field in error.errors.items():
            form.add_error(name, messages_of_field)
        return False
    return True

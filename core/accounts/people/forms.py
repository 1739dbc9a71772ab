"""Forms of teams and their members."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from core.accounts import mails
from core.accounts.models import Role, Team
from core.accounts.people import invitations

LIFETIMES = [(1, _("in a day")), (7, _("in 7 days")), (invitations.LONGEST_DAYS, _("in 30 days"))]


class PeopleForm(forms.Form):
    """Base form that shows the verbs' errors beside its fields."""

    def add_errors(self, errors: Mapping[str, list[str]]) -> None:
        """Show each error of a verb beside its field, or above the form where it has none."""
        for name, messages in errors.items():
            for message in messages:
                self.add_error(name if name in self.fields else None, message)


class TeamForm(PeopleForm):
    """The name of a team."""

    name = forms.CharField(
        label=_("Name"),
        max_length=Team._meta.get_field("name").max_length,
        help_text=_("Such as the service or the group of people: Payments"),
    )


class MemberForm(PeopleForm):
    """A person to let into a team, by the name of their login, and their role there."""

    username = forms.CharField(
        label=_("User name"),
        max_length=User._meta.get_field("username").max_length,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
        help_text=_("The name that they log in with"),
    )
    role = forms.ChoiceField(label=_("Role"), choices=Role.choices, initial=Role.VIEWER)


class LeaveForm(PeopleForm):
    """What a change of a member takes: of the last owner, a confirmation that the team may have none."""

    leave_without_owner = forms.BooleanField(
        label=_("Leave the team without an owner"),
        required=False,
        help_text=_("Only administrators can then change its members, its clusters and its poolers"),
    )

    def __init__(self, *args: Any, is_last_owner: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not is_last_owner:
            del self.fields["leave_without_owner"]


class RoleForm(LeaveForm):
    """A member's role."""

    role = forms.ChoiceField(label=_("Role"), choices=Role.choices)
    field_order = ["role", "leave_without_owner"]


class InvitationForm(PeopleForm):
    """Into which team somebody is invited, as what, and for how long the link is good."""

    team = forms.ModelChoiceField(Team.objects.none(), label=_("Team"), empty_label=None)
    role = forms.ChoiceField(label=_("Role"), choices=Role.choices, initial=Role.VIEWER)
    lifetime_days = forms.TypedChoiceField(label=_("The link expires"), choices=LIFETIMES, coerce=int, initial=7)
    email = forms.EmailField(
        label=_("E-mail"),
        required=False,
        max_length=254,
        help_text=_("To whom the link is sent; it is also shown here once"),
    )

    def __init__(self, *args: Any, teams: QuerySet[Team], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        team = self.fields["team"]
        if isinstance(team, forms.ModelChoiceField):
            team.queryset = teams
        if not mails.is_sent():
            self.fields["email"].help_text = _("Whom the link is for; this panel sends no mail, so copy the link")

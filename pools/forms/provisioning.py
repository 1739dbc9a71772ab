"""Forms of a cluster's databases and roles; the verbs in `pools.provisioning` validate further."""

from typing import Any, cast

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from pools.forms.base import PanelForm
from pools.provisioning.databases import ENCODINGS, NO_LIMIT, Choices, Database, DatabaseValues
from pools.provisioning.grants import Access
from pools.provisioning.roles import Role, RoleValues

MONO = {"class": "pd-mono", "spellcheck": "false", "autocomplete": "off", "autocapitalize": "none"}


def name_field() -> forms.CharField:
    """Return a field for a name of PostgreSQL, which is not stripped: such names may hold spaces."""
    return forms.CharField(
        label=_("Name"),
        strip=False,
        help_text=_("Up to 63 bytes; letters, digits and underscore need no quotes in SQL"),
        widget=forms.TextInput(attrs=MONO),
    )


def limit_field() -> forms.IntegerField:
    """Return a field for a connection limit; empty means no limit."""
    return forms.IntegerField(
        label=_("Connection limit"), required=False, min_value=0, help_text=_("Empty: no limit but the server's")
    )


def picker(names: list[str], empty: str | Promise) -> forms.Select:
    """Return a select of the names after an empty choice with that label."""
    return forms.Select(choices=[("", empty), *((name, name) for name in names)])


class ConnectionLimitForm(PanelForm):
    """Base of the forms whose empty fields are left out; an empty connection limit means no limit."""

    def given(self) -> dict[str, object]:
        """Return the values of the fields that are filled in."""
        values = {name: value for name, value in self.cleaned_data.items() if value not in ("", None)}
        return {"connection_limit": NO_LIMIT} | values


class DatabaseForm(ConnectionLimitForm):
    """Form of a new database; its pickers list the roles and databases that the cluster has now."""

    name = name_field()
    owner = forms.CharField(
        label=_("Owner"), required=False, strip=False, help_text=_("The role with all rights on the database")
    )
    encoding = forms.ChoiceField(
        label=_("Encoding"),
        required=False,
        choices=[("", _("As the template")), *((name, name) for name in ENCODINGS)],
        help_text=_("An encoding other than the template's implies template0 and the collation C"),
    )
    template = forms.CharField(
        label=_("Template"), required=False, strip=False, help_text=_("The database that the new one is a copy of")
    )
    connection_limit = limit_field()

    def __init__(self, *args: Any, choices: Choices, login: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if choices.roles:
            own = gettext("The panel's login (%(role)s)") % {"role": login}
            self.fields["owner"].widget = picker(choices.roles, own)
        if choices.templates:
            names = [*choices.templates, *choices.databases]
            self.fields["template"].widget = picker(names, _("template1, the default"))

    def values(self) -> DatabaseValues:
        """Return the values that `databases.create` takes."""
        return cast(DatabaseValues, self.given())


class DatabaseChangeForm(ConnectionLimitForm):
    """Form of an existing database: its owner and connection limit."""

    owner = forms.CharField(label=_("Owner"), strip=False)
    connection_limit = limit_field()

    def __init__(self, *args: Any, database: Database, choices: Choices, **kwargs: Any) -> None:
        limit = None if database.connection_limit < 0 else database.connection_limit
        super().__init__(*args, initial={"owner": database.owner, "connection_limit": limit}, **kwargs)
        self.fields["owner"].widget = forms.Select(choices=[(name, name) for name in choices.roles])

    def values(self) -> DatabaseValues:
        """Return the values that `databases.change` takes."""
        return cast(DatabaseValues, self.given())


class RoleChangeForm(ConnectionLimitForm):
    """Form of an existing role: login, connection limit and expiry of the password."""

    can_login = forms.BooleanField(label=_("Can log in"), required=False, initial=True)
    connection_limit = limit_field()
    valid_until = forms.DateTimeField(
        label=_("Password valid until"),
        required=False,
        help_text=_("Empty: it never expires. Write the time as 2027-01-31 18:00, in the panel's time zone"),
        widget=forms.DateTimeInput(attrs={"placeholder": "2027-01-31 18:00"}),
        error_messages={"invalid": _("this is not a valid time: write it as 2027-01-31 18:00")},
    )

    def __init__(self, *args: Any, role: Role | None = None, **kwargs: Any) -> None:
        if role is not None:
            limit = None if role.connection_limit < 0 else role.connection_limit
            current = {"can_login": role.can_login, "connection_limit": limit, "valid_until": role.valid_until}
            kwargs["initial"] = current | (kwargs.get("initial") or {})
        super().__init__(*args, **kwargs)

    def values(self) -> RoleValues:
        """Return the values of the verbs; an empty expiry becomes None, which means never."""
        return cast(RoleValues, {"valid_until": None} | self.given())


class RoleForm(RoleChangeForm):
    """Form of a new role, whose password the panel generates."""

    name = name_field()
    database = forms.CharField(
        label=_("Database"), required=False, strip=False, help_text=_("The database that the access is granted on")
    )
    access = forms.ChoiceField(
        label=_("Access"), choices=Access.choices, initial=Access.WRITE, help_text=_("Includes future tables")
    )
    field_order = ("name", "can_login", "database", "access", "connection_limit", "valid_until")

    def __init__(self, *args: Any, choices: Choices, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if choices.databases:
            self.fields["database"].widget = picker(choices.databases, _("None for now"))

    def values(self) -> RoleValues:
        """Return the values that `roles.create` takes; the access is left out without a database."""
        values = super().values()
        if not values.get("database"):
            values.pop("access", None)
        return values

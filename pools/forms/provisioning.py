"""The forms of what a cluster holds, databases and roles; whether it can be taken is the verbs' word."""

from typing import Any

from django import forms

from pools.forms.records import Typed
from pools.provisioning.databases import ENCODINGS, NO_LIMIT, Choices, Database
from pools.provisioning.grants import Access
from pools.provisioning.roles import Role

MONO = {"class": "pd-mono", "spellcheck": "false", "autocomplete": "off", "autocapitalize": "none"}


def name_field(help_text: str) -> forms.CharField:
    """A name exactly as typed: PostgreSQL's names may hold spaces."""
    return forms.CharField(strip=False, help_text=help_text, widget=forms.TextInput(attrs=MONO))


def limit_field() -> forms.IntegerField:
    """A connection limit; empty is none."""
    return forms.IntegerField(
        label="Connection limit", required=False, min_value=0, help_text="Empty: no limit but the server's"
    )


def picker(names: list[str], empty: str) -> forms.Select:
    """A list to choose a name from."""
    return forms.Select(choices=[("", empty), *((name, name) for name in names)])


class Holding(Typed):
    """A form whose empty fields say nothing, but for the connection limit, where empty means none."""

    def values(self) -> dict[str, Any]:
        """What the verbs take."""
        given = {name: value for name, value in self.cleaned_data.items() if value not in ("", None)}
        return {"connection_limit": NO_LIMIT} | given


class DatabaseForm(Holding):
    """A new database; the pickers hold what the cluster has now."""

    name = name_field("Up to 63 bytes; letters, digits and underscore need no quotes in SQL")
    owner = forms.CharField(required=False, strip=False, help_text="Who may do everything in it")
    encoding = forms.ChoiceField(
        required=False,
        choices=[("", "As the template"), *((name, name) for name in ENCODINGS)],
        help_text="Another than the template's takes template0 and the collation C",
    )
    template = forms.CharField(required=False, strip=False, help_text="What it starts as a copy of")
    connection_limit = limit_field()

    def __init__(self, *args: Any, choices: Choices, login: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if choices.roles:
            self.fields["owner"].widget = picker(choices.roles, f"The panel's login ({login})")
        if choices.templates:
            self.fields["template"].widget = picker([*choices.templates, *choices.databases], "template1, as usual")


class DatabaseChangeForm(Holding):
    """What of a database can be changed."""

    owner = forms.CharField(strip=False)
    connection_limit = limit_field()

    def __init__(self, *args: Any, database: Database, choices: Choices, **kwargs: Any) -> None:
        limit = None if database.connection_limit < 0 else database.connection_limit
        super().__init__(*args, initial={"owner": database.owner, "connection_limit": limit}, **kwargs)
        self.fields["owner"].widget = forms.Select(choices=[(name, name) for name in choices.roles])


class RoleChangeForm(Holding):
    """What of a role can be changed."""

    can_login = forms.BooleanField(label="Can log in", required=False, initial=True)
    connection_limit = limit_field()
    valid_until = forms.DateTimeField(
        label="Password valid until",
        required=False,
        help_text="Empty: without end. As 2027-01-31 18:00, in the panel's time zone",
        widget=forms.DateTimeInput(attrs={"placeholder": "2027-01-31 18:00"}),
    )

    def __init__(self, *args: Any, role: Role | None = None, **kwargs: Any) -> None:
        if role is not None:
            limit = None if role.connection_limit < 0 else role.connection_limit
            stands = {"can_login": role.can_login, "connection_limit": limit, "valid_until": role.valid_until}
            kwargs["initial"] = stands | (kwargs.get("initial") or {})
        super().__init__(*args, **kwargs)
        self.fields["valid_until"].error_messages["invalid"] = "that is no time: write it as 2027-01-31 18:00"

    def values(self) -> dict[str, Any]:
        """What the verbs take; an empty time is no end."""
        return {"valid_until": None} | super().values()


class RoleForm(RoleChangeForm):
    """A new role; its password is the panel's to make."""

    name = name_field("Up to 63 bytes; letters, digits and underscore need no quotes in SQL")
    database = forms.CharField(required=False, strip=False, help_text="Where it may do what stands beside")
    access = forms.ChoiceField(choices=Access.choices, initial=Access.WRITE, help_text="Tables to come included")
    field_order = ("name", "can_login", "database", "access", "connection_limit", "valid_until")

    def __init__(self, *args: Any, choices: Choices, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if choices.databases:
            self.fields["database"].widget = picker(choices.databases, "None for now")

    def values(self) -> dict[str, Any]:
        """What the verbs take; the access counts only with a database."""
        values = super().values()
        return values if values.get("database") else {name: value for name, value in values.items() if name != "access"}

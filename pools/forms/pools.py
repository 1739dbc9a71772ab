"""The form of a pool."""

from collections.abc import Mapping
from typing import Any, cast
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.accounts.access import Access
from pools.clusters import topology
from pools.forms.base import PanelForm, password_field
from pools.forms.record_choice import RecordChoiceField
from pools.forms.setting_fields import field_of, written
from pools.inventory import pool_validation, pooler_settings_validation
from pools.inventory.pools import PoolValues
from pools.models import Cluster, ListedRole, Mode, NodeRole, Pool, Pooler
from pools.poolers import driver, kinds_that
from pools.poolers.settings_schema import Scope, Setting

INBOUND = _("Inbound user: each client logs in as itself")
FURTHER = "further_"  # prefix of the fields for further settings of a pool


class PoolForm(PanelForm):
    """Form of a pool; its database and user pickers list what the cluster's last check found.

    Where nothing is chosen yet, it begins with a cluster and a pooler on which the holder of `access` may have pools.
    """

    version = forms.IntegerField(widget=forms.HiddenInput, required=False)
    name = forms.CharField(
        label=_("Name"),
        max_length=200,
        help_text=_(
            "Clients give this name as the database, and it is the pool's entry in [databases] of PgBouncer; it takes "
            "letters, digits, underscores, dots and hyphens."
        ),
    )
    pooler = RecordChoiceField("managed-pooler", empty_label=None, label=_("Pooler"))
    cluster = RecordChoiceField("cluster", empty_label=_("Choose a cluster"), label=_("Cluster"))
    through = forms.ModelChoiceField(
        Pooler.objects.filter(kind__in=kinds_that("is_chainable")),
        required=False,
        empty_label=_("the cluster itself"),
        label=_("Routes to"),
        help_text=_(
            "A chain leads from this PgBouncer to a Pgpool-II, which must accept the same user for the same database."
        ),
    )
    target = forms.ChoiceField(
        choices=[(NodeRole.PRIMARY, _("the primary")), (NodeRole.STANDBY, _("a standby, to read only"))],
        required=False,
        label=_("Server"),
        help_text=_("The pool follows that role when it moves to another node of the cluster."),
    )
    database = forms.CharField(
        label=_("Database"), help_text=_("The pool leads to this database of the cluster (dbname in PgBouncer).")
    )
    user = forms.CharField(
        label=_("User"),
        required=False,
        help_text=_("The pool logs in to the cluster as this role (user in PgBouncer)."),
    )
    user_password = password_field(
        _("Password of that user"), _("The panel verifies it by a login before it stores it.")
    )
    allowed_users = forms.CharField(
        label=_("Who else may log in"),
        required=False,
        help_text=_(
            "These roles may log in too, and work as the pool's user; commas separate them, and * lets in every user "
            "that the pooler knows. An empty field lets in the pool's user only."
        ),
    )
    password_for_developers = forms.BooleanField(
        label=_("Developers may reveal the password"),
        required=False,
        help_text=_("Otherwise it takes an operator of the team."),
    )
    mode = forms.ChoiceField(label=_("Mode"), choices=Mode.choices, widget=forms.RadioSelect, initial=Mode.TRANSACTION)
    size = forms.IntegerField(
        label=_("Size"),
        initial=10,
        help_text=_("The pool holds at most this many server connections (pool_size in PgBouncer)."),
        widget=forms.NumberInput(attrs={"hx-preserve": "true"}),  # keeps the focus while htmx swaps the parts around it
    )
    over_budget_confirm = forms.CharField(
        label=_("Exceed the budget"), required=False, help_text=_("Type the cluster's name to allow it")
    )

    def __init__(self, *args: Any, pool: Pool | None = None, access: Access, **kwargs: Any) -> None:
        if pool is not None:
            names = ("version", "name", "pooler", "cluster", "through", "target", "database", "user", "mode", "size")
            own = {name: getattr(pool, name) for name in names}
            own["password_for_developers"] = pool.password_for_developers
            own["allowed_users"] = ", ".join(pool.allowed_users.split("\n"))
            kwargs["initial"] = own | (kwargs.get("initial") or {})
        super().__init__(*args, **kwargs)
        self.pool, self.access = pool, access
        if pool is not None:
            self.fields["pooler"].disabled = self.fields["cluster"].disabled = True
        elif not self.is_bound and (only := self._only_cluster()):
            self.initial.setdefault("cluster", only)
        self.chosen_cluster = self._find_cluster()
        self._fill_pickers()
        self._apply_pooler_limits()
        self.further = self._further_settings()
        for name, setting in self.further.items():
            self.fields[FURTHER + name] = field_of(setting)
            self.initial.setdefault(FURTHER + name, written(pool.settings.get(name)) if pool else "")

    def clean(self) -> dict[str, object]:
        """Validate the further settings here, so that each message appears beside its field."""
        pooler: Pooler | None = self.cleaned_data.get("pooler")
        typed = {name: value for name in self.further if (value := self.cleaned_data.get(FURTHER + name))}
        for name, message in pooler_settings_validation.value_problems(pooler, Scope.POOL, typed) if pooler else ():
            self.add_error(FURTHER + name, message)
        if self.errors:  # The form reports the faults of the other values now, not at the next attempt.
            for name, message in pool_validation.value_problems(self.cleaned_data):
                self.add_error(name, message)
        return self.cleaned_data

    def clean_allowed_users(self) -> str:
        """Return the roles as a pool keeps them; names with a comma can be given by the API alone."""
        return pool_validation.written_users(self.cleaned_data["allowed_users"].split(","))

    def clean_target(self) -> str:
        """Return the chosen target, or the pool's own where no choice was shown."""
        return self.cleaned_data["target"] or (self.pool.target if self.pool else NodeRole.PRIMARY.value)

    def _further_settings(self) -> dict[str, Setting]:
        pooler = self.chosen_pooler
        return pooler_settings_validation.offered(pooler, Scope.POOL) if pooler else {}

    @property
    def chosen_pooler(self) -> Pooler | None:
        """The pool's own, the chosen one, else the first of the list, which a browser shows as chosen."""
        if self.pool:
            return self.pool.pooler
        chosen = self["pooler"].value()
        if isinstance(chosen, Pooler):
            return chosen
        try:
            return Pooler.objects.get(pk=chosen) if chosen else self._poolers().first()
        except (Pooler.DoesNotExist, ValidationError):  # the field reports it itself
            return None

    @property
    def further_rows(self) -> list[tuple[Setting, forms.BoundField]]:
        return [(setting, self[FURTHER + name]) for name, setting in self.further.items()]

    @property
    def further_open(self) -> bool:
        """True if a further setting has a value or an error, so that the section must be open."""
        return any(field.value() or field.errors for _, field in self.further_rows)

    def _poolers(self) -> QuerySet[Pooler]:
        return self.access.choices(Pooler.objects.managed(), "pool.create")

    def _only_cluster(self) -> Cluster | None:
        """Return the one cluster on which its caller may have pools; None where there are none or several."""
        found = self.access.choices(Cluster.objects.all(), "pool.create")[:2]
        return found[0] if len(found) == 1 else None

    def _find_cluster(self) -> Cluster | None:
        field = self.fields["cluster"]
        chosen = self.get_initial_for_field(field, "cluster") if field.disabled else self["cluster"].value()
        if isinstance(chosen, Cluster):
            return chosen
        try:
            return Cluster.objects.select_related("status").filter(pk=chosen).first() if chosen else None
        except (ValueError, forms.ValidationError):  # The value is not a UUID: the field reports it itself.
            return None

    def _fill_pickers(self) -> None:
        status = getattr(self.chosen_cluster, "status", None)
        databases = [(found["name"], found["name"]) for found in status.databases] if status else []
        roles = [(found["name"], _role_label(found)) for found in status.roles if found["can_login"]] if status else []
        if databases:
            self.fields["database"].widget = _picker(
                self["database"].value(), [("", gettext("Choose a database")), *databases]
            )
        if roles:
            self.fields["user"].widget = _picker(self["user"].value(), [("", str(INBOUND)), *roles])
        else:
            self.fields["user"].help_text = gettext(
                "The pool logs in to the cluster as this role (user in PgBouncer); an empty field means the inbound "
                "user, so that each client logs in as itself."
            )

    def _apply_pooler_limits(self) -> None:
        """Fix the fields that the pooler's kind decides: chain, mode, size, and their help texts."""
        chosen = self["pooler"].value()
        pooler = pooler_of(chosen)
        if pooler is None:
            return
        kind = driver(pooler)
        if not kind.can_chain:
            self.fields["through"] = forms.ModelChoiceField(Pooler.objects.none(), required=False)
        if not kind.admits_others:
            self.fields["allowed_users"].widget = forms.HiddenInput()
        if kind.usual_mode == Mode.SESSION:
            self.initial["mode"] = Mode.SESSION
        if size := kind.usual_size(pooler):
            self.initial["size"] = size
            # The id differs from the field's for other poolers, because htmx would preserve that one's value
            # (hx-preserve).
            self.fields["size"].widget.attrs = {"readonly": "readonly", "id": "id_size_fixed"}
        for field, text in kind.pool_notes.items():
            self.fields[field].help_text = text.format(pooler=pooler)

    @property
    def offers_standby(self) -> bool:
        """True if the form shows the choice of a target: a standby is known, or was chosen."""
        chosen = self["target"]
        known = self.chosen_cluster and topology.standbys(self.chosen_cluster)
        return bool(known or chosen.errors or chosen.value() == NodeRole.STANDBY)

    @property
    def asks_password(self) -> bool:
        """True if the panel does not know the chosen user's password yet."""
        user = self["user"].value()
        return bool(user and self.chosen_cluster and self.chosen_cluster.password_of(user) is None)

    def values(self) -> PoolValues:
        """Return the values that `pools.create` and `pools.change` take; settings without a field here are kept."""
        own = {name: value for name, value in self.cleaned_data.items() if not name.startswith(FURTHER)}
        del own["version"]
        current = self.pool.settings if self.pool else {}
        kept = {name: value for name, value in current.items() if name not in self.further}
        typed = {name: self.cleaned_data[FURTHER + name].strip() for name in self.further}
        settings = {
            name: pooler_settings_validation.typed(self.further[name], value) for name, value in typed.items() if value
        }
        return cast(PoolValues, own | {"settings": kept | settings})


def pooler_of(chosen: Pooler | UUID | str | None) -> Pooler | None:
    """Return the pooler that a field holds, or the one with the submitted id; None if there is none."""
    if isinstance(chosen, Pooler):
        return chosen
    if not chosen:
        return None
    try:
        return Pooler.objects.filter(pk=chosen).first()
    except (ValueError, forms.ValidationError):  # The value is not a UUID: the field reports it itself.
        return None


def edited_pool(given: Mapping[str, Any]) -> Pool | None:
    """Return the existing pool that a form edits, by its hidden field `pool`; None for a new pool."""
    try:
        return Pool.objects.select_related("pooler", "cluster").filter(pk=given["pool"]).first()
    except (KeyError, forms.ValidationError):  # none, or not a UUID
        return None


def _picker(chosen: str | None, choices: list[tuple[str, str]]) -> forms.Select:
    """Return a select that also offers the chosen value if it is not among the choices; the verb validates it."""
    if chosen and chosen not in dict(choices):
        unknown = gettext("%(name)s (not found at the last check)") % {"name": chosen}
        choices = [*choices, (chosen, unknown)]
    return forms.Select(choices=choices)


def _role_label(role: ListedRole) -> str:
    name = str(role["name"])
    return gettext("%(role)s (superuser)") % {"role": name} if role.get("superuser") else name

"""The forms of clusters, poolers and pools: they parse what was typed; whether it can be taken is the verbs' word."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator

from pools.clusters import topology
from pools.forms.setting_fields import field_of, written
from pools.inventory import clusters, pooler_settings_validation
from pools.models import Cluster, Mode, NodeRole, Pool, Pooler
from pools.poolers import driver, kinds_that
from pools.poolers.settings_schema import Scope, Setting

INBOUND = "Inbound user: each client logs in as itself"
FURTHER = "further_"  # before the names of the fields that hold further settings of a pool


class Typed(forms.Form):
    """A form whose messages name the field, and that takes the verbs' errors beside its fields."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            label = str(field.label or name.replace("_", " ")).lower()
            field.error_messages["required"] = f"{label} is needed: enter it"
            field.error_messages["invalid_choice"] = f"this {label} is not there (any more): choose one of the list"
            if isinstance(field, forms.IntegerField):
                field.error_messages["invalid"] = f"{label} is a whole number, such as 10"
            field.validators = [_with_remedy(validator) for validator in field.validators]

    def take(self, errors: dict[str, list[str]]) -> None:
        """Show a verb's errors: beside the field where there is one, else above the form."""
        for name, messages in errors.items():
            for message in messages:
                self.add_error(name if name in self.fields else None, message)


def _with_remedy(validator: Any) -> Any:
    """The same bound, in words that carry the value."""
    if type(validator) is MinValueValidator:
        return MinValueValidator(validator.limit_value, "%(show_value)s is too little: use at least %(limit_value)s")
    if type(validator) is MaxValueValidator:
        return MaxValueValidator(validator.limit_value, "%(show_value)s is too much: use at most %(limit_value)s")
    return validator


def password_field(label: str, help_text: str) -> forms.CharField:
    """A password: what was typed comes back with the errors of the same answer, a stored one never."""
    widget = forms.PasswordInput(render_value=True, attrs={"autocomplete": "new-password"})
    return forms.CharField(label=label, widget=widget, required=False, strip=False, help_text=help_text)


class ClusterForm(Typed, forms.ModelForm):  # type: ignore[type-arg]
    """A cluster's fields with the password of its admin login."""

    version = forms.IntegerField(widget=forms.HiddenInput, required=False)
    admin_password = password_field("Admin password", "Encrypted at rest and never shown in forms again")

    class Meta:
        model = Cluster
        fields = clusters.FIELDS
        labels = {
            "admin_user": "Admin user",
            "maintenance_database": "Maintenance database",
            "sslmode": "SSL mode",
            "sslrootcert": "Certificate authority",
            "memory_mb": "Memory",
            "vcpus": "vCPUs",
            "disk_gb": "Disk",
            "set_aside_connections": "Set aside",
            "protected": "Protected: benchmarks that write ask for the cluster's name first",
        }
        help_texts = {
            "name": "How the panel calls it, such as orders-production",
            "admin_user": "A role that may see all databases and sessions; superuser is not needed",
            "maintenance_database": "Where the panel logs in to look around",
            "sslmode": "verify-full is the safest; prefer takes TLS where the server offers it",
            "sslrootcert": "PEM text; needed by verify-ca and verify-full",
            "memory_mb": "Only estimates the connections while the server can't be asked",
            "set_aside_connections": "Kept from pools: people and runs log in directly with them",
            "protected": "",
        }
        widgets = {"sslrootcert": forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "class": "pd-mono"})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance._state.adding:
            self.initial["set_aside_connections"] = settings.CONNECTION_RESERVE
        else:
            self.initial.setdefault("version", self.instance.version)
            self.fields["admin_password"].help_text = "Leave empty to keep the stored one; a changed address asks again"

    def validate_unique(self) -> None:
        """Left to the verb, whose message tells the remedy."""

    def values(self) -> dict[str, Any]:
        """What the verbs take."""
        return {name: self.cleaned_data[name] for name in (*clusters.FIELDS, "admin_password")}


class PoolerForm(Typed, forms.ModelForm):  # type: ignore[type-arg]
    """A pooler's fields with the password of its console."""

    version = forms.IntegerField(widget=forms.HiddenInput, required=False)
    admin_password = password_field(
        "Console password", "Encrypted at rest and never shown in forms again; an HAProxy has none"
    )

    class Meta:
        model = Pooler
        fields = ("name", "kind", "host", "port", "pcp_port", "admin_user", "config_dir", "generator")
        labels = {"admin_user": "Console user", "config_dir": "Configuration directory", "pcp_port": "PCP port"}
        help_texts = {
            "name": "How the panel calls it, such as edge-1",
            "host": "Where clients reach it; the panel logs in to its console there too",
            "pcp_port": "Of a Pgpool-II only: its control port (pcp_port), over which it is reloaded",
            "admin_user": "PgBouncer: one of its admin_users; Pgpool-II: a role of the servers behind it; "
            "HAProxy: the role that health checks name",
            "config_dir": "The folder of pgbouncer.ini, pgpool.conf or haproxy.cfg on the generator's host; the panel "
            "writes there",
            "generator": "The worker that can write there; empty: any",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance._state.adding:
            self.initial.setdefault("version", self.instance.version)
            self.fields["admin_password"].help_text = "Leave empty to keep the stored one; a changed address asks again"

    def validate_unique(self) -> None:
        """Left to the verb, whose message tells the remedy."""

    def values(self) -> dict[str, Any]:
        """What the verbs take."""
        return {name: self.cleaned_data[name] for name in (*self.Meta.fields, "admin_password")}


class PoolForm(Typed):
    """A pool: the pickers of database and user are filled from what the cluster said last."""

    version = forms.IntegerField(widget=forms.HiddenInput, required=False)
    name = forms.CharField(
        max_length=200, help_text="Clients give it as the database. Letters, digits, underscore, dot, hyphen"
    )
    pooler = forms.ModelChoiceField(Pooler.objects.all(), empty_label=None)
    cluster = forms.ModelChoiceField(Cluster.objects.all(), empty_label="Choose a cluster")
    through = forms.ModelChoiceField(
        Pooler.objects.filter(kind__in=kinds_that("is_chainable")),
        required=False,
        empty_label="the cluster itself",
        label="Leads to",
        help_text="A chain: this PgBouncer, then a Pgpool-II that lets the same user in to the same database",
    )
    target = forms.ChoiceField(
        choices=[(NodeRole.PRIMARY, "the primary"), (NodeRole.STANDBY, "a standby, to read only")],
        required=False,
        label="Server",
        help_text="The pool follows that role when it moves to another server of the cluster",
    )
    database = forms.CharField()
    user = forms.CharField(required=False)
    user_password = password_field("Password of that user", "Tried by a login before it is kept")
    mode = forms.ChoiceField(choices=Mode.choices, widget=forms.RadioSelect, initial=Mode.TRANSACTION)
    size = forms.IntegerField(
        initial=10,
        help_text="Server connections that the pool may hold at most",
        widget=forms.NumberInput(attrs={"hx-preserve": "true"}),  # new choices come around it: typing goes on in it
    )
    over_budget_confirm = forms.CharField(
        required=False, label="Take more than there is", help_text="The cluster's name, typed, allows it"
    )

    def __init__(self, *args: Any, pool: Pool | None = None, **kwargs: Any) -> None:
        if pool is not None:
            names = ("version", "name", "pooler", "cluster", "through", "target", "database", "user", "mode", "size")
            kwargs["initial"] = {name: getattr(pool, name) for name in names} | (kwargs.get("initial") or {})
        super().__init__(*args, **kwargs)
        self.pool = pool
        if pool is not None:
            self.fields["pooler"].disabled = self.fields["cluster"].disabled = True
        elif not self.is_bound and Cluster.objects.count() == 1:
            self.initial.setdefault("cluster", Cluster.objects.get())
        self.chosen_cluster = self._find_cluster()
        self._fill_pickers()
        self._fix_what_the_pooler_fixes()
        self.further = self._further_settings()
        for name, setting in self.further.items():
            self.fields[FURTHER + name] = field_of(setting)
            self.initial.setdefault(FURTHER + name, written(pool.settings.get(name)) if pool else "")

    def clean(self) -> dict[str, Any]:
        """Judge the further settings here, so that each message stands beside its field."""
        pooler: Pooler | None = self.cleaned_data.get("pooler")
        typed = {name: value for name in self.further if (value := self.cleaned_data.get(FURTHER + name))}
        for name, message in pooler_settings_validation.value_problems(pooler, Scope.POOL, typed) if pooler else ():
            self.add_error(FURTHER + name, message)
        return self.cleaned_data

    def clean_target(self) -> str:
        """As it was where no choice was shown."""
        return self.cleaned_data["target"] or (self.pool.target if self.pool else NodeRole.PRIMARY.value)

    def _further_settings(self) -> dict[str, Setting]:
        """The settings of a pool that the release of the chosen pooler takes, by name."""
        pooler = self.chosen_pooler
        return pooler_settings_validation.offered(pooler, Scope.POOL) if pooler else {}

    @property
    def chosen_pooler(self) -> Pooler | None:
        """The standing pool's, the one chosen, else the first of the list, which a browser shows as chosen."""
        if self.pool:
            return self.pool.pooler
        chosen = self["pooler"].value()
        if isinstance(chosen, Pooler):
            return chosen
        try:
            return Pooler.objects.get(pk=chosen) if chosen else Pooler.objects.first()
        except (Pooler.DoesNotExist, ValidationError):  # the field says so itself
            return None

    @property
    def further_rows(self) -> list[tuple[Setting, forms.BoundField]]:
        """Each further setting with its field."""
        return [(setting, self[FURTHER + name]) for name, setting in self.further.items()]

    @property
    def further_open(self) -> bool:
        """Whether one of them has a value or an error, which must be seen."""
        return any(field.value() or field.errors for _, field in self.further_rows)

    def _find_cluster(self) -> Cluster | None:
        field = self.fields["cluster"]
        chosen = self.get_initial_for_field(field, "cluster") if field.disabled else self["cluster"].value()
        if isinstance(chosen, Cluster):
            return chosen
        try:
            return Cluster.objects.select_related("status").filter(pk=chosen).first() if chosen else None
        except (ValueError, forms.ValidationError):  # not a UUID: the field says so itself
            return None

    def _fill_pickers(self) -> None:
        status = getattr(self.chosen_cluster, "status", None)
        databases = [(found["name"], found["name"]) for found in status.databases] if status else []
        roles = [(found["name"], _role_label(found)) for found in status.roles if found["can_login"]] if status else []
        if databases:
            self.fields["database"].widget = _picker(self["database"].value(), [("", "Choose a database"), *databases])
        if roles:
            self.fields["user"].widget = _picker(self["user"].value(), [("", INBOUND), *roles])
        else:
            self.fields["user"].help_text = "Empty: the inbound user, each client logs in as itself"

    def _fix_what_the_pooler_fixes(self) -> None:
        """Pools of some kinds have no size, mode or name of their own."""
        chosen = self["pooler"].value()
        pooler = _pooler_of(chosen)
        if pooler is None:
            return
        fixing = driver(pooler)
        if not fixing.can_chain:
            self.fields["through"] = forms.ModelChoiceField(Pooler.objects.none(), required=False)
        if fixing.usual_mode == Mode.SESSION:
            self.initial["mode"] = Mode.SESSION
        if size := fixing.usual_size(pooler):
            self.initial["size"] = size
            # of another id than the field of other poolers, which htmx would preserve as it stands
            self.fields["size"].widget.attrs = {"readonly": "readonly", "id": "id_size_fixed"}
        for field, text in fixing.pool_notes.items():
            self.fields[field].help_text = text.format(pooler=pooler)

    @property
    def offers_standby(self) -> bool:
        """Whether there is a standby to lead to, or one was chosen: then the choice must be seen."""
        chosen = self["target"]
        known = self.chosen_cluster and topology.standbys(self.chosen_cluster)
        return bool(known or chosen.errors or chosen.value() == NodeRole.STANDBY)

    @property
    def asks_password(self) -> bool:
        """Whether the chosen user's password is one the panel does not know yet."""
        user = self["user"].value()
        return bool(user and self.chosen_cluster and self.chosen_cluster.password_of(user) is None)

    def values(self) -> dict[str, Any]:
        """What the verbs take; settings that this form has no field for stay as they are."""
        own = {name: value for name, value in self.cleaned_data.items() if not name.startswith(FURTHER)}
        del own["version"]
        current = self.pool.settings if self.pool else {}
        kept = {name: value for name, value in current.items() if name not in self.further}
        typed = {name: self.cleaned_data[FURTHER + name].strip() for name in self.further}
        given = {
            name: pooler_settings_validation.typed(self.further[name], value) for name, value in typed.items() if value
        }
        return own | {"settings": kept | given}


def _pooler_of(chosen: Any) -> Pooler | None:
    """The pooler that a field holds, or the one of the id that was typed."""
    if isinstance(chosen, Pooler) or not chosen:
        return chosen or None
    try:
        return Pooler.objects.filter(pk=chosen).first()
    except (ValueError, forms.ValidationError):  # not a UUID: the field says so itself
        return None


def edited_pool(given: Mapping[str, Any]) -> Pool | None:
    """The standing pool that a form is for, by its hidden field; None for a new one."""
    try:
        return Pool.objects.select_related("pooler", "cluster").filter(pk=given["pool"]).first()
    except (KeyError, forms.ValidationError):  # none, or not a UUID
        return None


def _picker(chosen: Any, choices: list[tuple[str, str]]) -> forms.Select:
    """A list to choose from that keeps a value it does not hold, for the verb to judge."""
    if chosen and chosen not in dict(choices):
        choices = [*choices, (chosen, f"{chosen} (not found at the last check)")]
    return forms.Select(choices=choices)


def _role_label(role: dict[str, Any]) -> str:
    return f"{role['name']} (superuser)" if role.get("superuser") else str(role["name"])

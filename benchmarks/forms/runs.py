"""The forms of runs and datasets; submission validates targets and options, the forms only parse them."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar
from uuid import uuid4

from django import forms
from django.db.models import Model, QuerySet, TextChoices
from django.forms import BoundField
from django.utils.functional import Promise, cached_property
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from benchmarks.analysis.confidence_intervals import ENOUGH_REPEATS
from benchmarks.engines import DEFAULT_ENGINE, ENGINES, stage_lines
from benchmarks.engines.base import Field, Value
from benchmarks.errors import InvalidOptions
from benchmarks.forms import run_sections, unsupported_options
from benchmarks.forms.profiles import offer_profiles
from benchmarks.forms.run_sections import WithGenerators, WithHostFile, WithStatuses, WithSweep, WithThresholds
from benchmarks.forms.script_fields import SHOWN_APART, WithScripts, lines_field
from benchmarks.forms.stage_fields import WithStages
from benchmarks.forms.visible import VisibleChoices
from benchmarks.generators import selection
from benchmarks.generators.selection import Offer
from benchmarks.models import ExternalEndpoint, Purpose, Run
from benchmarks.results import annotations
from benchmarks.runs.submission import idempotency, options, submit
from benchmarks.targets.resolve import RequestedTarget
from core.accounts.access import Access
from pools.forms.base import PanelForm
from pools.forms.record_choice import RecordChoiceField
from pools.models import Cluster

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

CHOICES_SHOWN = 500  # external endpoints per list
BASIC_GROUP = "Load"
Record = TypeVar("Record", bound=Model)


class Route(TextChoices):
    """The route of the load."""

    POOLED = "pooled", _("Through a pool")
    DIRECT = "direct", _("Straight to a cluster")
    BOTH = "both", _("Direct and pooled")
    EXTERNAL = "external", _("An external endpoint")


ROUTE_NOTES = {
    Route.POOLED: _("as your clients do"),
    Route.DIRECT: _("bypasses every pooler"),
    Route.BOTH: _("one after the other, then compared: is the pool worth it?"),
    Route.EXTERNAL: _("a pooler outside the panel, by its URI"),
}
NEEDED = {Route.DIRECT: ("cluster", "database"), Route.EXTERNAL: ("external",)}


def _database_field() -> forms.CharField:
    picker = {"list": "databases", "autocomplete": "off", "spellcheck": "false"}  # the datalist arrives with the facts
    return forms.CharField(label=_("Database"), max_length=63, widget=forms.TextInput(attrs=picker))


class OptionsForm(WithStatuses, VisibleChoices, PanelForm):
    """A form with an engine's options for one purpose; `cleaned_data["options"]` holds the validated ones."""

    purpose = Purpose.LOAD
    engine = forms.ChoiceField(required=False, initial=DEFAULT_ENGINE, widget=forms.HiddenInput)

    def __init__(self, *args: object, access: Access, **kwargs: object) -> None:
        super().__init__(*args, access=access, **kwargs)
        self.fields["engine"].choices = [(name, name) for name in ENGINES]  # type: ignore[attr-defined]
        self.version = options.known_program_version(self.engine_name, known=self.statuses[0])
        every = options.fields_for(self.engine_name, self.purpose)
        self.option_fields, self.lacked = unsupported_options.parted(every, self.version, self._names_set())
        for option in self.option_fields:
            self.fields[option.name] = _field_of(option)

    def _names_set(self) -> list[str]:
        """Return the names of the fields that were filled in, or set in the cloned run."""
        values = self.data if self.is_bound else self.initial
        return [name for name in values if values.get(name) not in (None, "", False)]

    @property
    def why_lacked(self) -> str:
        """The options that are left out, with the versions that introduced them."""
        return unsupported_options.why(self.engine_name, self.version, self.lacked)

    @property
    def engine_name(self) -> str:
        """The engine whose options the form shows; the default for an unknown name."""
        name = str(self["engine"].value())
        return name if name in ENGINES else DEFAULT_ENGINE

    @cached_property
    def engine_offers(self) -> list[Offer]:
        return selection.offers_for(self.purpose, self.statuses)

    @property
    def chosen_offer(self) -> Offer | None:
        return next((one for one in self.engine_offers if one.name == self.engine_name), None)

    def clean(self) -> dict[str, object]:
        typed = self.typed_options()
        try:
            self.cleaned_data["options"] = options.validate(self.engine_name, typed, purpose=self.purpose)
        except InvalidOptions as error:
            self.add_errors(error.errors)
        return self.cleaned_data

    def typed_options(self) -> dict[str, object]:
        """Return the raw options by name."""
        return {option.name: self.cleaned_data.get(option.name) for option in self.option_fields}

    def bound_options(self, *, basic: bool) -> list[tuple[Field, BoundField]]:
        """Return the options of the first group (`basic`) or all others, with their fields."""
        fields = (one for one in self.option_fields if one.kind not in SHOWN_APART)
        return [(one, self[one.name]) for one in fields if (one.group == BASIC_GROUP) == basic]

    @property
    def databases(self) -> list[str]:
        """The databases that the last check of the chosen cluster found."""
        cluster = getattr(self, "cleaned_data", {}).get("cluster")
        status = getattr(cluster, "status", None)
        return [database["name"] for database in status.databases] if status else []

    @property
    def basic(self) -> list[tuple[Field, BoundField]]:
        return self.bound_options(basic=True)

    @property
    def advanced(self) -> list[tuple[Field, BoundField]]:
        """The options that few runs set; folded."""
        return self.bound_options(basic=False)

    @property
    def advanced_groups(self) -> str:
        """The group names of the folded options."""
        return ", ".join(dict.fromkeys(str(one.group.label) for one, _ in self.advanced))

    @property
    def advanced_is_open(self) -> bool:
        """True if a folded option is set or invalid, so that they are unfolded."""
        return any(field.errors or field.value() not in (one.default, None, "") for one, field in self.advanced)


class RunForm(WithScripts, WithStages, WithSweep, WithThresholds, WithHostFile, WithGenerators, OptionsForm):
    """A run against a pool, a cluster, an external endpoint, or two in turn; only the chosen target is required."""

    use_required_attribute = False

    route = forms.ChoiceField(label=_("What to load"), choices=Route.choices, widget=forms.RadioSelect)
    pool = RecordChoiceField("pool", label=_("Pool"), empty_label=_("Choose…"))
    cluster = RecordChoiceField("cluster", label=_("Cluster"), empty_label=_("Choose…"))
    database = _database_field()
    external = forms.ModelChoiceField(ExternalEndpoint.objects.none(), label=_("External endpoint"))
    and_direct = forms.BooleanField(
        label=_("And its cluster directly, in turn"),
        required=False,
        help_text=_("Both use the same role and are compared; the endpoint’s cluster has to be registered"),
    )
    user = forms.CharField(
        label=_("Role"),
        max_length=63,
        required=False,
        help_text=_("Login of the load; empty: the pool's user, or the cluster's admin"),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    repeat = forms.IntegerField(
        label=_("Repeats"),
        min_value=1,
        max_value=submit.MOST_REPEATS,
        initial=1,
        required=False,
        help_text=format_lazy(
            _("One after the other, direct and pooled in turn; a verdict needs {count} or more of each"),
            count=ENOUGH_REPEATS,
        ),
    )
    name = forms.CharField(
        label=_("Name"), max_length=200, required=False, help_text=_("Searches find it; the run keeps its number")
    )
    tags = forms.CharField(label=_("Tags"), required=False, help_text=_("Searches find them; commas separate them"))
    page = forms.CharField(required=False, max_length=64, initial=lambda: uuid4().hex, widget=forms.HiddenInput)
    confirm = forms.CharField(
        label=_("Type the database's name to allow this"),
        required=False,
        help_text=_("Required if a script writes to a protected cluster or to tables that the panel did not make"),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, *args: object, access: Access, **kwargs: object) -> None:
        super().__init__(*args, access=access, **kwargs)
        route = self["route"].value()
        for name in ("pool", "cluster", "database", "external"):
            self.fields[name].required = name in NEEDED.get(route, ("pool",))
        externals = access.visible(ExternalEndpoint.objects.all())
        offer(self, "external", externals, lambda external: external.label)
        offer_profiles(self, access)

    def clean_repeat(self) -> int:
        return self.cleaned_data["repeat"] or 1

    def clean_tags(self) -> list[str]:
        try:
            return annotations.check_tags(annotations.split(self.cleaned_data["tags"]))
        except annotations.InvalidNote as error:
            raise forms.ValidationError(error.errors["tags"]) from None

    @property
    def key(self) -> str | None:
        """The idempotency key: identifies this filled-in form, so that a double click starts one run."""
        page = self.cleaned_data["page"]
        return f"form {page} {idempotency.digest(dict(self.data))}" if page else None

    def typed_options(self) -> dict[str, object]:
        """Return the raw options by name; of a sweep those of the step with the most clients."""
        typed = {**super().typed_options(), **self.typed_scripts(), **self.most_clients(self.engine_name)}
        return self.typed_stages(typed)

    @property
    def wrong_options(self) -> list[BoundField]:
        return [self[one.name] for one in self.option_fields if one.name in self.errors]

    @property
    def unfilled(self) -> list[BoundField]:
        """The invalid options that are still empty."""
        return [field for field in self.wrong_options if field.value() in (None, "")]

    @property
    def mistyped(self) -> list[BoundField]:
        """The invalid options that have a value."""
        return [field for field in self.wrong_options if field.value() not in (None, "")]

    @property
    def routes(self) -> Iterator[tuple[Any, str | Promise]]:
        """The radio button and the note of each route."""
        return zip(self["route"].subwidgets, ROUTE_NOTES.values(), strict=True)

    @property
    def is_pair(self) -> bool:
        """True if the cluster is also loaded directly."""
        chosen = self.cleaned_data
        return chosen["route"] == Route.BOTH or bool(chosen["route"] == Route.EXTERNAL and chosen["and_direct"])

    @property
    def choice(self) -> tuple[Cluster | None, str] | None:
        """The chosen cluster (None: not registered) and database, even if other fields are invalid.

        None while the route or the role is: what would be loaded, and as whom, is not known then.
        """
        chosen = getattr(self, "cleaned_data", {})
        if not {"route", "user"} <= set(chosen):
            return None
        if chosen.get("route") == Route.DIRECT:
            return (chosen["cluster"], chosen["database"]) if chosen.get("cluster") and chosen.get("database") else None
        if chosen.get("route") == Route.EXTERNAL:
            external = chosen.get("external")
            return (external.cluster, external.cluster_database or external.database) if external else None
        return (chosen["pool"].cluster, chosen["pool"].database) if chosen.get("pool") else None

    def target(self) -> RequestedTarget:
        """Return the target as `submit` takes it."""
        chosen = self.cleaned_data
        if chosen["route"] == Route.DIRECT:
            return {"cluster": str(chosen["cluster"].pk), "database": chosen["database"], "user": chosen["user"]}
        if chosen["route"] == Route.EXTERNAL:
            return {"external": str(chosen["external"].pk)}
        return {"pool": str(chosen["pool"].pk), "user": chosen["user"]}


class DatasetForm(OptionsForm):
    """The database and the size of an engine's tables."""

    purpose = Purpose.PREPARE
    cluster = RecordChoiceField("cluster", label=_("Cluster"), empty_label=_("Choose…"))
    database = _database_field()
    confirm = forms.CharField(
        label=_("Type the database's name to allow this"),
        required=False,
        help_text=_("Preparing drops existing tables of these names"),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    @property
    def choice(self) -> tuple[Cluster, str] | None:
        """The chosen cluster and database, even if other fields are invalid."""
        chosen = getattr(self, "cleaned_data", {})
        return (chosen["cluster"], chosen["database"]) if chosen.get("cluster") and chosen.get("database") else None

    def target(self) -> RequestedTarget:
        """Return the target as `submit` takes it."""
        return {"cluster": str(self.cleaned_data["cluster"].pk), "database": self.cleaned_data["database"]}

    @property
    def basic(self) -> list[tuple[Field, BoundField]]:
        return [(one, self[one.name]) for one in self.option_fields if self._is_basic(one)]

    @property
    def advanced(self) -> list[tuple[Field, BoundField]]:
        return [(one, self[one.name]) for one in self.option_fields if not self._is_basic(one)]

    def _is_basic(self, option: Field) -> bool:
        return option.name == "scale" or option.group == BASIC_GROUP


class ImportForm(PanelForm):
    """Output of pgbench or sysbench from another machine."""

    name = forms.CharField(
        label=_("Name"),
        max_length=200,
        required=False,
        help_text=_("For example its origin: db7, PostgreSQL 16, before tuning"),
    )
    text = forms.CharField(
        label=_("Output"),
        strip=False,
        required=False,
        help_text=_(
            "Complete output of pgbench (9.5 to 19) or sysbench (1.0, 1.1), progress lines and summary in any order"
        ),
        widget=forms.Textarea(attrs={"rows": 16, "spellcheck": "false", "class": "run-paste", "wrap": "off"}),
    )
    file = forms.FileField(label=_("Or upload a file"), required=False)

    def clean(self) -> dict[str, object]:
        has_text, has_file = (bool(self.cleaned_data.get(name)) for name in ("text", "file"))
        if not has_text and not has_file:
            self.add_error("text", _("output is needed: paste it, or choose a file"))
        if has_text and has_file:
            self.add_error("file", _("this is output beside the pasted one: give one of them"))
        return self.cleaned_data


def initial_of(run: Run) -> dict[str, object]:
    """Return the form's values that start this run again."""
    route = Route.EXTERNAL if run.is_external else Route.POOLED if run.went_through_pool else Route.DIRECT
    target = {
        "route": route,
        "external": run.external_id,
        "pool": run.pool_id,
        "cluster": run.cluster_id,
        "database": run.database,
    }
    target["user"] = "" if run.is_external else run.role
    tags = ", ".join(tag.name for tag in run.tags.all())
    named = {"name": run.name, "tags": tags, "engine": run.engine, **run_sections.placement_of(run)}
    stages = {"stages": stage_lines.written(run.options["stages"])} if run.options.get("stages") else {}
    return {**target, **named, **run.options, **stages, **run_sections.limits_of(run.thresholds)}


class _FieldTexts(TypedDict):
    label: "StrOrPromise"
    help_text: "StrOrPromise"
    required: bool
    initial: Value | None


def _field_of(option: Field) -> forms.Field:
    common: _FieldTexts = {
        "label": option.label,
        "help_text": option.help,
        "required": False,
        "initial": option.default,
    }
    if option.kind == "bool":
        return forms.BooleanField(**common)
    if option.kind == "choice":
        unsaid = [] if option.default else [("", _("default"))]
        return forms.ChoiceField(**common, choices=[*unsaid, *((word, word) for word in option.choices)])
    if option.kind == "stages":
        return lines_field(option.label, option.help)
    if option.kind not in ("int", "float"):
        return forms.CharField(**common, widget=forms.TextInput(attrs={"spellcheck": "false"}))
    attrs = {"min": option.minimum, "max": option.maximum, "step": "1" if option.kind == "int" else "any"}
    return forms.CharField(**common, widget=forms.NumberInput(attrs=attrs))  # text: the engine validates it


def offer(form: forms.Form, name: str, queryset: QuerySet[Record], label: Callable[[Record], str]) -> None:
    """Let a field accept any record of `queryset`, but list only the first ones and the one that is already chosen."""
    field: Any = form.fields[name]
    field.queryset = queryset
    field.label_from_instance = label
    listed = {str(value.pk): label(value) for value in queryset[:CHOICES_SHOWN]}
    chosen = form[name].value()
    if chosen and str(chosen) not in listed:
        value = field.to_python(chosen) if _is_known(field, chosen) else None
        listed |= {str(value.pk): label(value)} if value else {}
    field.widget.choices = [("", _("Choose…")), *listed.items()]


def _is_known(field: forms.Field, value: object) -> bool:
    try:
        return bool(field.to_python(value))
    except forms.ValidationError:
        return False

"""The forms of runs and datasets: what is typed stays typed; what may be done is the word of the verbs behind them."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from django import forms
from django.db.models import TextChoices
from django.forms import BoundField
from django.utils.functional import cached_property

from benchmarks.analysis.confidence_intervals import ENOUGH_REPEATS
from benchmarks.engines import DEFAULT_ENGINE, ENGINES
from benchmarks.engines.base import Field
from benchmarks.errors import InvalidOptions
from benchmarks.forms import generator_fields, threshold_fields, unsupported_options
from benchmarks.forms.generator_fields import WithGenerators
from benchmarks.forms.host_file_field import WithHostFile
from benchmarks.forms.profiles import offer_profiles
from benchmarks.forms.script_fields import SHOWN_APART, WithScripts
from benchmarks.forms.threshold_fields import WithThresholds
from benchmarks.generators import selection
from benchmarks.generators.selection import Offer
from benchmarks.models import ExternalEndpoint, Purpose, Run
from benchmarks.results import annotations
from benchmarks.runs.submission import idempotency, options, program_versions, submit
from pools.forms.records import Typed
from pools.models import Cluster, Pool

CHOICES_SHOWN = 500  # of pools and clusters in one list; others are reached by "Run" on their own page
BASIC_GROUP = "Load"


class Route(TextChoices):
    """The way that the load takes."""

    POOLED = "pooled", "Through a pool"
    DIRECT = "direct", "Straight to a cluster"
    BOTH = "both", "Direct and pooled"
    EXTERNAL = "external", "An external endpoint"


ROUTE_NOTES = {
    Route.POOLED: "as your clients do",
    Route.DIRECT: "past every pooler",
    Route.BOTH: "one after the other, then compared: is the pool worth it?",
    Route.EXTERNAL: "a pooler of somebody else, by its URI",
}


NEEDED = {Route.DIRECT: ("cluster", "database"), Route.EXTERNAL: ("external",)}


def _database_field() -> forms.CharField:
    picker = {"list": "databases", "autocomplete": "off", "spellcheck": "false"}  # the list comes with the facts
    return forms.CharField(label="Database", max_length=63, widget=forms.TextInput(attrs=picker))


class OptionsForm(Typed):
    """A form that carries an engine's options of one purpose; `cleaned_data["options"]` holds them typed."""

    purpose = Purpose.LOAD
    engine = forms.ChoiceField(required=False, initial=DEFAULT_ENGINE, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["engine"].choices = [(name, name) for name in ENGINES]  # type: ignore[attr-defined]
        self.version = program_versions.known(self.engine_name)
        every = options.fields_for(self.engine_name, self.purpose)
        self.option_fields, self.lacked = unsupported_options.parted(every, self.version, self._reported())
        for option in self.option_fields:
            self.fields[option.name] = _field_of(option)

    def _reported(self) -> list[str]:
        """The names of what was typed, or set in the run that is cloned."""
        given = self.data if self.is_bound else self.initial
        return [name for name in given if given.get(name) not in (None, "", False)]

    @property
    def why_lacked(self) -> str:
        """Which options are left out, and since when the program has them."""
        return unsupported_options.why(self.engine_name, self.version, self.lacked)

    @property
    def engine_name(self) -> str:
        """The engine whose options these are; the usual one for a name that is none."""
        name = str(self["engine"].value())
        return name if name in ENGINES else DEFAULT_ENGINE

    @cached_property
    def engine_offers(self) -> list[Offer]:
        """The engines for this purpose, each with the generators that have it or why it can't be chosen."""
        return selection.offers_for(self.purpose)

    @property
    def chosen_offer(self) -> Offer | None:
        """That of the engine whose options these are."""
        return next((one for one in self.engine_offers if one.name == self.engine_name), None)

    def clean(self) -> dict[str, Any]:
        """Let the engine judge the options as they were typed."""
        typed = self.typed_options()
        try:
            self.cleaned_data["options"] = options.validate(self.engine_name, typed, purpose=self.purpose)
        except InvalidOptions as error:
            self.take(error.errors)
        return self.cleaned_data

    def typed_options(self) -> dict[str, Any]:
        """The options as they were typed, by name."""
        return {option.name: self.cleaned_data.get(option.name) for option in self.option_fields}

    def bound_options(self, *, basic: bool) -> list[tuple[Field, BoundField]]:
        """The options of the first group, or all others, with their fields."""
        shown = (one for one in self.option_fields if one.kind not in SHOWN_APART)
        return [(one, self[one.name]) for one in shown if (one.group == BASIC_GROUP) == basic]

    @property
    def databases(self) -> list[str]:
        """The databases that the last check found on the chosen cluster."""
        cluster = getattr(self, "cleaned_data", {}).get("cluster")
        status = getattr(cluster, "status", None)
        return [database["name"] for database in status.databases] if status else []

    @property
    def basic(self) -> list[tuple[Field, BoundField]]:
        """What most runs set."""
        return self.bound_options(basic=True)

    @property
    def advanced(self) -> list[tuple[Field, BoundField]]:
        """What few runs set; folded away."""
        return self.bound_options(basic=False)

    @property
    def advanced_groups(self) -> str:
        """What the folded options are about, in words."""
        return ", ".join(dict.fromkeys(one.group.lower() for one, _ in self.advanced))

    @property
    def advanced_is_open(self) -> bool:
        """Whether something was set, or is wrong, among the folded options."""
        return any(field.errors or field.value() not in (one.default, None, "") for one, field in self.advanced)


class RunForm(WithScripts, WithThresholds, WithHostFile, WithGenerators, OptionsForm):
    """A run against a pool, a cluster, or both in turn; only the target of the chosen route is required."""

    use_required_attribute = False

    route = forms.ChoiceField(label="What to load", choices=Route.choices, widget=forms.RadioSelect)
    pool = forms.ModelChoiceField(Pool.objects.none(), label="Pool")
    cluster = forms.ModelChoiceField(Cluster.objects.none(), label="Cluster")
    database = _database_field()
    external = forms.ModelChoiceField(ExternalEndpoint.objects.none(), label="External endpoint")
    and_direct = forms.BooleanField(
        label="And its cluster directly, in turn",
        required=False,
        help_text="As the same role, then compared; needs the cluster that it leads to",
    )
    user = forms.CharField(
        label="Role",
        max_length=63,
        required=False,
        help_text="Who the load logs in as; empty: the pool's user, or the cluster's admin",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    repeat = forms.IntegerField(
        label="Repeats",
        min_value=1,
        max_value=submit.MOST_REPEATS,
        initial=1,
        required=False,
        help_text=f"One after the other, direct and pooled in turn; a verdict needs {ENOUGH_REPEATS} or more of each",
    )
    name = forms.CharField(label="Name", max_length=200, required=False, help_text="To find it by; the number stays")
    tags = forms.CharField(label="Tags", required=False, help_text="Words to find it by, with commas between them")
    page = forms.CharField(required=False, max_length=64, initial=lambda: uuid4().hex, widget=forms.HiddenInput)
    confirm = forms.CharField(
        label="Type the database's name to allow this",
        required=False,
        help_text="Needed where a script that writes meets a protected cluster or tables that the panel did not make",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        route = self["route"].value()
        for name in ("pool", "cluster", "database", "external"):
            self.fields[name].required = name in NEEDED.get(route, ("pool",))
        pools = Pool.objects.wanted().select_related("cluster", "pooler")
        offer(self, "pool", pools, lambda pool: f"{pool.name} → {pool.cluster}/{pool.database} ({pool.pooler})")
        offer(self, "cluster", Cluster.objects.all(), str)
        offer(self, "external", ExternalEndpoint.objects.all(), lambda external: external.label)
        offer_profiles(self)

    def clean_repeat(self) -> int:
        """Once where nothing was typed."""
        return self.cleaned_data["repeat"] or 1

    def clean_tags(self) -> list[str]:
        """Each tag once."""
        try:
            return annotations.check_tags(annotations.split(self.cleaned_data["tags"]))
        except annotations.InvalidNote as error:
            raise forms.ValidationError(error.errors["tags"]) from None

    @property
    def key(self) -> str | None:
        """Names this very form as it was filled in: sent twice, as by a double click, it is meant once."""
        page = self.cleaned_data["page"]
        return f"form {page} {idempotency.digest(dict(self.data))}" if page else None

    def typed_options(self) -> dict[str, Any]:
        """With the scripts of the rows and of the library."""
        return super().typed_options() | self.typed_scripts()

    @property
    def wrong_options(self) -> list[BoundField]:
        """The options that the engine would refuse."""
        return [self[one.name] for one in self.option_fields if one.name in self.errors]

    @property
    def unfilled(self) -> list[BoundField]:
        """Those of them that only wait to be filled in."""
        return [field for field in self.wrong_options if field.value() in (None, "")]

    @property
    def mistyped(self) -> list[BoundField]:
        """Those of them that hold what can't be."""
        return [field for field in self.wrong_options if field.value() not in (None, "")]

    @property
    def routes(self) -> Iterator[tuple[Any, str]]:
        """Each way as its radio button with a word on what it is for."""
        return zip(self["route"].subwidgets, ROUTE_NOTES.values(), strict=True)

    @property
    def is_pair(self) -> bool:
        """Whether the cluster is loaded directly too."""
        chosen = self.cleaned_data
        return chosen["route"] == Route.BOTH or bool(chosen["route"] == Route.EXTERNAL and chosen["and_direct"])

    @property
    def choice(self) -> tuple[Cluster | None, str] | None:
        """The cluster (None: not registered) and database that are chosen by now, whether the rest is right or not."""
        chosen = getattr(self, "cleaned_data", {})
        if chosen.get("route") == Route.DIRECT:
            return (chosen["cluster"], chosen["database"]) if chosen.get("cluster") and chosen.get("database") else None
        if chosen.get("route") == Route.EXTERNAL:
            external = chosen.get("external")
            return (external.cluster, external.cluster_database or external.database) if external else None
        return (chosen["pool"].cluster, chosen["pool"].database) if chosen.get("pool") else None

    def target(self) -> dict[str, str]:
        """What the verb takes as its target."""
        chosen = self.cleaned_data
        if chosen["route"] == Route.DIRECT:
            return {"cluster": str(chosen["cluster"].pk), "database": chosen["database"], "user": chosen["user"]}
        if chosen["route"] == Route.EXTERNAL:
            return {"external": str(chosen["external"].pk)}
        return {"pool": str(chosen["pool"].pk), "user": chosen["user"]}


class DatasetForm(OptionsForm):
    """Where the tables of an engine are to be made, and how large."""

    purpose = Purpose.PREPARE
    cluster = forms.ModelChoiceField(Cluster.objects.none(), label="Cluster")
    database = _database_field()
    confirm = forms.CharField(
        label="Type the database's name to allow this",
        required=False,
        help_text="Preparing drops the tables of these names that are there",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "cluster", Cluster.objects.all(), str)

    @property
    def choice(self) -> tuple[Cluster, str] | None:
        """The cluster and database that are chosen by now, whether the rest is right or not."""
        chosen = getattr(self, "cleaned_data", {})
        return (chosen["cluster"], chosen["database"]) if chosen.get("cluster") and chosen.get("database") else None

    def target(self) -> dict[str, str]:
        """What the verb takes as its target."""
        return {"cluster": str(self.cleaned_data["cluster"].pk), "database": self.cleaned_data["database"]}

    @property
    def basic(self) -> list[tuple[Field, BoundField]]:
        """What is to be made, and how large."""
        return [(one, self[one.name]) for one in self.option_fields if self._is_basic(one)]

    @property
    def advanced(self) -> list[tuple[Field, BoundField]]:
        """How the tables are made."""
        return [(one, self[one.name]) for one in self.option_fields if not self._is_basic(one)]

    def _is_basic(self, option: Field) -> bool:
        return option.name == "scale" or option.group == BASIC_GROUP


class ImportForm(Typed):
    """What a pgbench or a sysbench printed somewhere else."""

    name = forms.CharField(
        label="Name", max_length=200, required=False, help_text="Where it comes from: db7, PostgreSQL 16, before tuning"
    )
    text = forms.CharField(
        label="Output",
        strip=False,
        help_text="All that pgbench (9.5 to 19) or sysbench (1.0) printed, its progress lines and summary in any order",
        widget=forms.Textarea(attrs={"rows": 16, "spellcheck": "false", "class": "run-paste", "wrap": "off"}),
    )


def initial_of(run: Run) -> dict[str, Any]:
    """The form's values that would start this run again."""
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
    named = {"name": run.name, "tags": tags, "engine": run.engine, **generator_fields.initial_of(run)}
    return {**target, **named, **run.options, **threshold_fields.initial_of(run.thresholds)}


def _field_of(option: Field) -> forms.Field:
    common: dict[str, Any] = {
        "label": option.label,
        "help_text": option.help,
        "required": False,
        "initial": option.default,
    }
    if option.kind == "bool":
        return forms.BooleanField(**common)
    if option.kind == "choice":
        unsaid = [] if option.default else [("", "as usual")]
        return forms.ChoiceField(**common, choices=[*unsaid, *((word, word) for word in option.choices)])
    if option.kind not in ("int", "float"):
        return forms.CharField(**common, widget=forms.TextInput(attrs={"spellcheck": "false"}))
    attrs = {"min": option.minimum, "max": option.maximum, "step": "1" if option.kind == "int" else "any"}
    return forms.CharField(**common, widget=forms.NumberInput(attrs=attrs))  # text, so that the engine judges it


def offer(form: forms.Form, name: str, queryset: Any, label: Any) -> None:
    """Let a field take any of the records, and list the first of them together with the one chosen already."""
    field: Any = form.fields[name]
    field.queryset = queryset
    field.label_from_instance = label
    listed = {str(one.pk): label(one) for one in queryset[:CHOICES_SHOWN]}
    chosen = form[name].value()
    if chosen and str(chosen) not in listed:
        one = field.to_python(chosen) if _is_known(field, chosen) else None
        listed |= {str(one.pk): label(one)} if one else {}
    field.widget.choices = [("", "Choose…"), *listed.items()]


def _is_known(field: Any, value: Any) -> bool:
    try:
        return bool(field.to_python(value))
    except forms.ValidationError:
        return False

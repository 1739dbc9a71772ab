"""Forms of the shelf: which cluster is put there, and what clients ask for to get it."""

from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _

from pools.forms.base import PanelForm
from pools.forms.record_choice import RecordChoiceField
from pools.inventory import shelf
from pools.models import ShelfEntry


class ShelfEntryForm(PanelForm):
    """Form of an entry; only a new one asks for the cluster."""

    cluster = RecordChoiceField(
        "unused-cluster", label=_("Cluster"), help_text=_("A cluster without pools that is not in use yet")
    )
    size = forms.CharField(
        label=_("Size"),
        max_length=63,
        help_text=_("Clients ask for a size by this name, such as db-s-1vcpu-2gb; any name will do"),
    )
    region = forms.CharField(
        label=_("Region"),
        max_length=63,
        help_text=_("Clients ask for a region by this name, such as nyc1; any name will do"),
    )
    pooler = RecordChoiceField(
        "managed-pooler",
        label=_("Pooler"),
        required=False,
        empty_label=_("the PgBouncer with the cluster’s pools"),
        help_text=_("Pools that clients create go to this pooler"),
    )
    drop_on_return = forms.BooleanField(
        label=_("Drop what its client created when the client deletes the cluster"),
        required=False,
        help_text=_("Databases and roles that were not there at the claim are dropped for good"),
    )

    def __init__(self, *args: Any, entry: ShelfEntry | None = None, **kwargs: Any) -> None:
        before = {name: getattr(entry, name) for name in shelf.FIELDS} if entry else {}
        super().__init__(*args, initial=before, **kwargs)
        if entry is not None:
            del self.fields["cluster"]

    def values(self) -> shelf.ShelfValues:
        """Return the values that `shelf.put` and `shelf.change` take."""
        return cast(shelf.ShelfValues, {name: self.cleaned_data[name] for name in shelf.FIELDS})

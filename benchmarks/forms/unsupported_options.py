"""The options that a form leaves out because the program that would execute the run is too old for them."""

from collections.abc import Iterable

from django.utils.translation import gettext as _

from benchmarks.engines.base import Field

FIRST = 9  # options with this `since` exist in every version


def parted(
    fields: Iterable[Field], version: tuple[int, int] | None, already_set: Iterable[str] = ()
) -> tuple[tuple[Field, ...], tuple[Field, ...]]:
    """Split the options into (offered, left out) by the program's version.

    An option that is already set (`already_set`) is offered anyway, so that validation refuses it visibly.
    """
    listed, kept = tuple(fields), set(already_set)
    lacked = tuple(one for one in listed if version and one.name not in kept and one.since > max(version[0], FIRST))
    return tuple(one for one in listed if one not in lacked), lacked


def why(engine: str, version: tuple[int, int] | None, lacked: Iterable[Field]) -> str:
    """Name the options that are left out, in a sentence; empty if there are none."""
    named = [f"{one.flag} ({one.since})" for one in sorted(lacked, key=lambda one: one.since)]
    if not named or version is None:
        return ""
    text = _("Not available in %(engine)s %(version)s, which would execute the run: %(options)s.")
    return text % {"engine": engine, "version": f"{version[0]}.{version[1]}", "options": ", ".join(named)}

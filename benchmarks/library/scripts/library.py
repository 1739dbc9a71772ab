"""Library of scripts: stored by name, with every version of their texts; each passes the gate first.

A version records its author and time; the log also records renames and deletions, which leave no version.
"""

import logging
from collections.abc import Mapping
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F, OuterRef, QuerySet, Subquery
from django.utils.translation import gettext as _

from benchmarks.engines import script_gate
from benchmarks.errors import InvalidFields, InvalidOptions
from benchmarks.models import Script, ScriptVersion
from benchmarks.models.scripts import NAME_CHARACTERS
from core.accounts.access import Access
from core.accounts.models import FIRST_TEAM, Team

log = logging.getLogger(__name__)

DESCRIPTION_CHARACTERS = 500


class InvalidScript(InvalidFields):
    """A script that can't be stored; `line` is the line of the text that is meant."""

    def __init__(self, errors: dict[str, list[str]], line: int | None = None) -> None:
        super().__init__(errors)
        self.line = line


def create(
    *, name: str, text: str, description: str = "", author: User | None = None, team: Team | None = None
) -> Script:
    """Create a script of `team`, or of the first one, with its first version.

    Raises `InvalidScript` with nothing saved.
    """
    script = Script(name=name, description=description, team_id=team.pk if team else FIRST_TEAM)
    _check(script, text)
    version = _save(script, text, author)
    log.info("script %s: version 1 of %r was written by %s", script.pk, script.name, author)
    return version


def change(
    script: Script,
    *,
    name: str | None = None,
    text: str | None = None,
    description: str | None = None,
    author: User | None,
) -> Script:
    """Change what is given; another text becomes the next version. Raises `InvalidScript` with nothing saved."""
    before, last = (script.name, script.description), newest(script)
    script.name = script.name if name is None else name
    script.description = script.description if description is None else description
    text = last.text if text is None else text
    _check(script, text)
    changed = _save(script, text if text != last.text else None, author)
    if text != last.text:
        log.info("script %s: version %d of %r was written by %s", script.pk, last.number + 1, script.name, author)
    if before != (script.name, script.description):
        log.info("script %s: %r, now %r, was renamed or described by %s", script.pk, before[0], script.name, author)
    return changed


def remove(script: Script, *, author: User | None) -> None:
    """Delete it with all its versions; runs of it keep the text they ran."""
    key, last = script.pk, newest(script).number
    script.delete()
    log.info("script %s: %r with its %d versions was deleted by %s", key, script.name, last, author)


def _check(script: Script, text: str) -> None:
    errors: dict[str, list[str]] = {}
    line = None
    if not script.name or len(script.name) > NAME_CHARACTERS or not script.name.isprintable():
        errors["name"] = [_("a name has 1 to %(most)s printable characters: enter it") % {"most": NAME_CHARACTERS}]
    elif Script.objects.filter(team=script.team_id, name=script.name).exclude(pk=script.pk).exists():
        errors["name"] = [_("there is a script %(name)s already: choose another name") % {"name": script.name}]
    if len(script.description) > DESCRIPTION_CHARACTERS or "\0" in script.description:
        errors["description"] = [
            _("a description has at most %(most)s characters and no NUL") % {"most": DESCRIPTION_CHARACTERS}
        ]
    try:
        script_gate.check(text)
    except script_gate.ScriptRefused as error:
        errors["text"], line = [str(error)], error.line
    if errors:
        raise InvalidScript(errors, line)


def _save(script: Script, text: str | None, author: User | None) -> Script:
    try:
        with transaction.atomic():
            script.save()
            if text is not None:
                last = script.versions.order_by("-number").values_list("number", flat=True).first()
                script.versions.create(number=(last or 0) + 1, text=text, author=author)
    except IntegrityError:
        message = _("script %(name)s was changed by another user at the same moment: try again") % {"name": script.name}
        raise InvalidScript({"name": [message]}) from None
    return script


def newest(script: Script) -> ScriptVersion:
    """Return the version of a script with the highest number."""
    return script.versions.order_by("-number")[0]


def newest_versions() -> QuerySet[ScriptVersion]:
    """Return the newest version of each script, by name."""
    last = ScriptVersion.objects.filter(script=OuterRef("script")).order_by("-number").values("number")[:1]
    return ScriptVersion.objects.filter(number=Subquery(last)).select_related("script").order_by("script__name")


def with_newest(scripts: QuerySet[Script]) -> QuerySet[Script]:
    """Annotate scripts with `number`, `text` and `changed_at` of their newest version."""
    last = ScriptVersion.objects.filter(script=OuterRef("pk")).order_by("-number")
    return scripts.annotate(
        number=Subquery(last.values("number")[:1]),
        text=Subquery(last.values("text")[:1]),
        changed_at=Subquery(last.values("created_at")[:1]),
    ).order_by(F("name"))


def filled(options: Mapping[str, object], access: Access | None = None) -> Mapping[str, object]:
    """Return a run's options with the texts of its scripts filled in.

    Looks up `{script}` (id or name, of `{version}` or the newest) and `{script_version}` (id). A run carries the texts,
    so that it can be repeated after a script was changed or deleted. With `access`, only what its holder may see is
    found. Raises `InvalidOptions`; malformed scripts are
    left to the engine's own checks.
    """
    scripts = options.get("scripts")
    if not isinstance(scripts, list):
        return options
    known = ScriptVersion.objects.all()
    visible = access.visible(known) if access else known
    try:
        return {**options, "scripts": [_with_text(number, one, visible) for number, one in enumerate(scripts, start=1)]}
    except LookupError as error:
        raise InvalidOptions({"scripts": [str(error.args[0])]}) from None


def _with_text(number: int, given: object, visible: QuerySet[ScriptVersion]) -> object:
    if not isinstance(given, dict):
        return given
    targets = [key for key in ("text", "script", "script_version") if key in given]
    if len(targets) != 1:
        text = _("script %(number)s has several of text, script and script_version: use one")
        without = _("script %(number)s has none of text, script and script_version: use one")
        raise LookupError((text if targets else without) % {"number": number})
    if targets == ["text"]:
        return _as_labeled(number, given, visible)
    found = _version(number, given, visible)
    kept = {key: value for key, value in given.items() if key not in ("script", "script_version", "version", "name")}
    return kept | {"text": found.text, "name": found.script.name, "version": found.number}


def _as_labeled(number: int, given: Mapping[str, object], visible: QuerySet[ScriptVersion]) -> Mapping[str, object]:
    """Return the script; raise where it claims to be a version of the library that has another text."""
    name, version = given.get("name"), given.get("version")
    if isinstance(name, str) and isinstance(version, int):
        texts = set(visible.filter(script__name=name, number=version).values_list("text", flat=True))
        if texts and given["text"] not in texts:  # teams may have scripts of one name
            raise LookupError(
                _("script %(number)s differs from version %(version)s of %(name)s: leave the version out")
                % {"number": number, "version": version, "name": name}
            )
    return given


def _version(number: int, given: Mapping[str, object], visible: QuerySet[ScriptVersion]) -> ScriptVersion:
    versions = visible.select_related("script").order_by("-number")
    if "script_version" in given:
        reference, key = given["script_version"], "version"
        version_id = _version_id(reference)
        found = versions.filter(pk=version_id).first() if version_id is not None else None
    else:
        reference, key = given["script"], "script"
        named = versions.filter(**_named(reference))
        if named.order_by().values("script").distinct().count() > 1:
            raise LookupError(
                _("script %(number)s: several teams have a script %(wanted)s: use its id")
                % {"number": number, "wanted": repr(str(reference)[:NAME_CHARACTERS])}
            )
        found = _of_number(named, given.get("version"))
    if found is None:
        raise LookupError(
            _("script %(number)s: there is no %(key)s %(wanted)s in the library")
            % {"number": number, "key": key, "wanted": repr(str(reference)[:NAME_CHARACTERS])}
        )
    return found


def _version_id(wanted: object) -> int | None:
    if isinstance(wanted, str) and wanted.isdecimal() and len(wanted) < 19:
        return int(wanted)
    return wanted if isinstance(wanted, int) and not isinstance(wanted, bool) else None


def _of_number(versions: QuerySet[ScriptVersion], number: object) -> ScriptVersion | None:
    if number is None:
        return versions.first()
    return versions.filter(number=number).first() if isinstance(number, int) and 0 < number < 2**31 else None


def _named(wanted: object) -> dict[str, UUID | str]:
    try:
        return {"script_id": UUID(str(wanted))}
    except ValueError:
        return {"script__name": str(wanted).replace("\0", "")}

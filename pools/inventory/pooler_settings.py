"""Changes a pooler's configuration apart from its pools: settings of the program, limits of users, and files.

All is validated for the pooler's detected release before anything is saved; then it is pending, like a pool, until a
worker has applied it and read it back.
"""

import logging
from collections.abc import Mapping
from itertools import chain
from typing import Any

from django.db import models, transaction
from django.utils.translation import gettext as _

from pools import task_queue
from pools.errors import InvalidValues
from pools.inventory import budget, pooler_settings_validation, sql_settings
from pools.inventory.pooler_settings_validation import Spec, Values
from pools.inventory.sql_settings import SqlRight
from pools.models import Pooler, PoolerFile, PoolState, TakeOver
from pools.poolers import KINDS, live_settings
from pools.poolers.settings_schema import Scope

logger = logging.getLogger(__name__)


class InvalidSettings(InvalidValues):
    """The values for a pooler's settings are invalid; `errors` are by setting."""


def change_settings(
    pooler: Pooler,
    values: Values,
    expected_version: int | None = None,
    author: models.Model | None = None,
    right: SqlRight = SqlRight.ANY,
) -> Pooler:
    """Set some settings of the program; null removes one, and settings not named stay as they are.

    An empty text removes one too, where it can't be a value (`Setting.may_be_empty`).

    Raises `InvalidSettings`, `NotAllowed` for SQL beyond the author's `right`, and `Stale` when the pooler was edited
    since `expected_version` (None: not checked).
    """
    live = live_settings.read(pooler) if pooler_settings_validation.asks_for_others(pooler, values) else None
    with transaction.atomic():
        locked = _locked(pooler)
        merged = _merged(locked, Scope.PROGRAM, locked.settings, values)
        sql_settings.refuse_for_program(locked, merged, right)
        InvalidSettings.refuse(budget.settings_problems(locked, merged))
        spec = Spec(merged, _files(locked))
        InvalidSettings.refuse(
            pooler_settings_validation.unsupported(locked, spec, merged.keys() & values.keys(), live)
        )
        _save(pooler, expected_version, author, settings=merged)
    logger.info("pooler %s: settings %s changed by %s", pooler.pk, ", ".join(values), author)
    return pooler


def change_user_settings(
    pooler: Pooler, user: str, values: Values, expected_version: int | None = None, author: models.Model | None = None
) -> Pooler:
    """Set some limits of one user over all pools; an empty value removes one, and a user without any is deleted.

    Raises `InvalidSettings` (the field `user` for the name) and `Stale`.
    """
    with transaction.atomic():
        locked = _locked(pooler)
        InvalidSettings.refuse(pooler_settings_validation.user_problems(locked, user))
        merged = _merged(locked, Scope.USER, locked.user_settings.get(user, {}), values)
        InvalidSettings.refuse(KINDS[pooler.kind].limits_problems(locked, user, merged))
        others = {name: limits for name, limits in locked.user_settings.items() if name != user}
        _save(pooler, expected_version, author, user_settings=others | ({user: merged} if merged else {}))
    logger.info("pooler %s: limits of user %s changed by %s", pooler.pk, user, author)
    return pooler


def give_file(pooler: Pooler, setting: str, content: str, author: models.Model | None = None) -> PoolerFile:
    """Give the pooler one file; `give_files` takes a certificate with its key."""
    give_files(pooler, {setting: content}, author)
    return pooler.given_files.get(setting=setting)


def give_files(
    pooler: Pooler,
    contents: Mapping[str, str],
    author: models.Model | None = None,
    expected_version: int | None = None,
) -> Pooler:
    """Give the pooler several files, by the setting that points to each; they replace its existing ones.

    Raises `InvalidSettings` where its release can't read one, a key does not belong to its certificate, or a rule names
    a missing map; `Stale`.
    """
    contents = {setting: _with_unix_lines(content) for setting, content in contents.items()}
    InvalidSettings.refuse(pooler_settings_validation.file_problems(pooler, contents))
    live = live_settings.read(pooler)
    with transaction.atomic():
        locked = _locked(pooler)
        spec = Spec(locked.settings, _files(locked) | contents)
        between = chain(
            pooler_settings_validation.pair_problems(locked, spec),
            pooler_settings_validation.disagreements(locked, spec, live),
        )
        InvalidSettings.refuse(chain(between, pooler_settings_validation.unsupported(locked, spec, contents, live)))
        for setting, content in contents.items():
            _keep(locked, setting, content, author)
        _save(pooler, expected_version, author)
    logger.info("pooler %s: given %s by %s", pooler.pk, ", ".join(contents), author)
    return pooler


def remove_file(
    pooler: Pooler, setting: str, author: models.Model | None = None, expected_version: int | None = None
) -> Pooler:
    """Remove a given file; refused while a setting or another given file needs it. Raises `Stale`."""
    live = live_settings.read(pooler)
    with transaction.atomic():
        locked = _locked(pooler)
        files = _files(locked)
        if setting not in files:
            text = _("%(setting)s: no such file was given to pooler %(pooler)s")
            raise InvalidSettings({setting: [text % {"setting": setting, "pooler": pooler}]})
        del files[setting]
        spec = Spec(locked.settings, files)
        unsupported = pooler_settings_validation.unsupported(locked, spec, [*spec.settings, *files], live)
        between = pooler_settings_validation.disagreements(locked, spec, live)
        needed = [message for _name, message in chain(unsupported, between)]
        InvalidSettings.refuse((setting, _("it is needed: %(message)s") % {"message": one}) for one in needed)
        locked.given_files.filter(setting=setting).delete()
        _save(pooler, expected_version, author)
    logger.info("pooler %s: %s removed by %s", pooler.pk, setting, author)
    return pooler


def _locked(pooler: Pooler) -> Pooler:
    pooler.require_managed()
    locked = Pooler.objects.select_for_update().get(pk=pooler.pk)
    locked.require_managed()  # it may have been let go in the meantime
    TakeOver.objects.refuse_releasing(locked)
    return locked


def _files(pooler: Pooler) -> dict[str, str]:
    return {file.setting: file.content for file in pooler.given_files.all()}


def _save(pooler: Pooler, expected_version: int | None, author: models.Model | None, **written: Any) -> None:
    """Save the spec and request an apply. Raises `Stale`."""
    pooler.edit(expected_version, settings_state=PoolState.PENDING, settings_reason="", **written)
    task_queue.ask([pooler.pk], author)


def _keep(pooler: Pooler, setting: str, content: str, author: models.Model | None) -> None:
    file = PoolerFile(pooler=pooler, setting=setting)
    file.content = content
    values = {"sealed_content": file.sealed_content, "author": author}
    PoolerFile.objects.update_or_create(pooler=pooler, setting=setting, defaults=values)


def _merged(pooler: Pooler, scope: Scope, stored: Values, values: Values) -> dict[str, object]:
    """Return the stored values with the given ones over them, typed. Raises `InvalidSettings` for invalid ones."""
    known = pooler_settings_validation.offered(pooler, scope)
    kept = {
        name: value for name, value in values.items() if not pooler_settings_validation.removes(known.get(name), value)
    }
    InvalidSettings.refuse(pooler_settings_validation.value_problems(pooler, scope, kept))
    unchanged = {name: value for name, value in stored.items() if name not in values}
    return unchanged | {name: pooler_settings_validation.typed(known[name], value) for name, value in kept.items()}


def _with_unix_lines(content: str) -> str:
    """Replace the CR LF that browsers send by the LF that poolers read."""
    return content.replace("\r\n", "\n").strip("\n") + "\n" if content.strip() else ""

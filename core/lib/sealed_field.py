"""The type of columns that hold what `crypto.seal` returns: the rotation of keys finds them by it."""

from typing import Any

from django.db import models


class SealedField(models.TextField):  # type: ignore[type-arg]
    """A text column of encrypted secrets; empty where there is none.

    Declare each such column with it: secrets in a column of another type are out of the start-up check's sight.
    """

    def deconstruct(self) -> tuple[str, str, list[Any], dict[str, Any]]:
        """Describe it to migrations as the plain text column that it is in the database."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.TextField", list(args), dict(kwargs)

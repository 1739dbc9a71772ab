"""Rows that an update is going to change are locked and read before: of each model that the trail follows."""

import pytest
from django.db import transaction

from core.audit import rows
from core.audit.tracking import TRACKED

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("model", TRACKED, ids=lambda model: model._meta.label)
def test_the_rows_of_each_model_can_be_locked(model: type) -> None:
    with transaction.atomic():
        assert rows.locked(TRACKED[model], model.objects.all().query, "default") is not None

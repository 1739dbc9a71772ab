"""The rows of a long series among which a chart's are chosen, found by the database instead of by reading all of them.

They are the ones with the lowest and the highest figure of each bucket. A chart that is thinned from these keeps the
shape of one that is thinned from all rows (J. Van der Donckt et al., "MinMaxLTTB", 2023), and its points are real rows.
"""

from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Count, Max, Min, Model, QuerySet

FOR_EACH = 4  # rows found for each that is drawn, as in the paper
PAYS_FROM = 3  # times as many rows as would be found; fewer are read in less time than they are compared in
# A bucket is a range of places in the events of an attempt, which is sought in an index: SQLite would sort all rows to
# group them by buckets. The first and the last row, which are always drawn, come besides.
EXTREMES = """
WITH RECURSIVE bucket (start) AS (
    SELECT CAST(%(first)s AS bigint) UNION ALL SELECT start + %(step)s FROM bucket WHERE start + %(step)s <= %(last)s
)
SELECT (SELECT id FROM {table} WHERE {within} ORDER BY COALESCE({figure}, 0), seq LIMIT 1),
       (SELECT id FROM {table} WHERE {within} ORDER BY COALESCE({figure}, 0) DESC, seq LIMIT 1)
FROM bucket
UNION ALL
SELECT id, id FROM {table} WHERE run_id = %(run)s AND attempt = %(attempt)s AND seq IN (%(first)s, %(last)s)
"""
WITHIN = "run_id = %(run)s AND attempt = %(attempt)s AND seq >= bucket.start AND seq < bucket.start + %(step)s"


@dataclass(frozen=True)
class _Attempt:
    """The rows of one attempt of a run: the places of the first and of the last, and its share of all rows."""

    run: object
    number: int
    first: int
    last: int
    share: float = 1.0


def of_buckets(rows: QuerySet[Any], figure: str, at_most: int) -> set[int] | None:
    """Return the keys of the rows from which so many are to be chosen by a figure; an unknown one counts as 0.

    `rows` are the samples of one kind of one run, in order. None: all of them are to be read, since they are few, or
    nearly all stand close together.
    """
    enough = PAYS_FROM * FOR_EACH * at_most
    if rows[: enough + 1].count() <= enough:  # a run of a day is not gone through to be counted
        return None
    buckets = FOR_EACH * at_most // 2
    attempts = ((one, max(1, int(buckets * one.share))) for one in _attempts_of(rows))
    found = {key for attempt, share in attempts for key in _keys(rows.model, figure, attempt, share)}
    return found if len(found) >= at_most else None


def _attempts_of(rows: QuerySet[Any]) -> list[_Attempt]:
    """Return the attempts that the rows are of: the ends tell of a single one, and else all rows are gone through."""
    places = rows.values_list("run", "attempt", "seq")
    (run, number, first), (_run, last_number, last) = places[0], places.reverse()[0]
    if number == last_number:
        return [_Attempt(run, number, first, last)]
    columns = rows.order_by().values_list("run", "attempt")
    found = list(columns.annotate(first=Min("seq"), last=Max("seq"), count=Count("*")))
    whole = sum(row[4] for row in found)
    return [_Attempt(run, number, first, last, count / whole) for run, number, first, last, count in found]


def _keys(model: type[Model], figure: str, attempt: _Attempt, buckets: int) -> set[int]:
    quoted = connection.ops.quote_name
    sql = EXTREMES.format(table=quoted(model._meta.db_table), figure=quoted(figure), within=WITHIN)
    run = model._meta.get_field("run").get_db_prep_value(attempt.run, connection)  # type: ignore[union-attr]
    step = -(-(attempt.last - attempt.first + 1) // buckets)
    places = {"attempt": attempt.number, "first": attempt.first, "last": attempt.last, "step": step}
    with connection.cursor() as cursor:
        cursor.execute(sql, {"run": run, **places})
        return {key for pair in cursor.fetchall() for key in pair if key is not None}

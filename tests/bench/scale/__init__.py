"""What pages and API lists cost in a large installation: 1,000 clusters, 200 poolers, 10,000 pools, 100,000 runs.

    .venv/bin/python -m tests.bench.scale --database sqlite
    .venv/bin/python -m tests.bench.scale --database postgresql --json after.json --before before.json

The first start makes the records, which takes a minute, and keeps the database in `--home`; later starts use it again.
Its PostgreSQL and its Redis are servers of its own on free ports, which end with it. One run has 86,400 samples, and
the records belong to 20 teams; `--as member` asks as an operator of two of them instead of as an administrator.

The table has a row for each page and list: the medians of seven requests in wall-clock and in processor time (of this
process: on a machine that is shared the processor time is the one to compare), the number of queries, and the size of
the answer. Requests are made by Django's test client, in this process: what a web server adds is not in it.
`--json` keeps the figures, and `--before` puts those of another time beside them. When a browser has drawn some of the
pages: `python -m tests.bench.scale.paint`.
"""

"""Recreates the table of the products service, and prints its progress.

`python -m benchmarks.load_programs.products.seed --rows N`, or `--drop`; libpq's variables hold its endpoint.
"""

import argparse
import sys

import psycopg

STEP = 5_000
CREATE = """
    CREATE TABLE products (
        id integer PRIMARY KEY, name text NOT NULL, price numeric(10, 2) NOT NULL, description text NOT NULL
    )
"""
# As in the published experiment, 1,000 of these rows are 86.5 kB of JSON.
INSERT = """
    INSERT INTO products
    SELECT n, 'Product ' || n, (n * 7919 %% 100000)::numeric / 100, substr(md5(n::text), 1, 23)
    FROM generate_series(%s::int, %s::int) AS n
"""


def fill(rows: int) -> None:
    """Drop, create and fill the table."""
    with psycopg.connect(autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS products")
        connection.execute(CREATE)
        for first in range(1, rows + 1, STEP):
            last = min(first + STEP - 1, rows)
            connection.execute(INSERT, (first, last))
            print(f"filled {last} of {rows} rows", flush=True)
        connection.execute("VACUUM (ANALYZE) products")


def main() -> None:
    """Parse the arguments and run; an error of the server is one line, and exit code 1."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--rows", type=int, default=0)
    words.add_argument("--drop", action="store_true")
    arguments = words.parse_args()
    try:
        if arguments.drop:
            with psycopg.connect(autocommit=True) as connection:
                connection.execute("DROP TABLE IF EXISTS products")
        else:
            fill(arguments.rows)
    except psycopg.Error as error:
        print(f"error: {str(error).strip()}".replace("\n", " "), flush=True)
        sys.exit(1)


if __name__ == "__main__":
    main()

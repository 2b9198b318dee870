"""Checks files of the earthquakes with an independent reader.

Usage: check.py EVENTS.jsonl DATA.parquet...

EVENTS are the values that were produced, one a line, each with an id of its
own. DATA are the live files of the table, with at least the columns id,
magnitude (properties.mag, double) and at (properties.time, timestamp in ms).
The rows must be those of DuckDB's own reading of the events, and counting rows
with a predicate, which skips row groups by their statistics, must give what
counting in memory gives. Exit 1 and a line for each difference.

Needs the Python package duckdb (checked with 2.0.1).
"""

import random
import sys

import duckdb


def main(events, files):
    con = duckdb.connect()
    con.execute("set timezone = 'UTC'")
    con.execute(
        """create table want as select id, properties.mag::double magnitude,
        make_timestamptz(properties.time * 1000) as seen
        from read_json(?, format = 'newline_delimited')""",
        [events],
    )
    con.execute(
        """create table got as select id, magnitude, "at" as seen
        from read_parquet(?) where not kafka_tombstone""",
        [files],
    )
    failures = []
    for a, b, what in (("want", "got", "lacks"), ("got", "want", "has too many of")):
        n = one(con, f"select count(*) from (from {a} except all from {b})")
        if n:
            failures.append(f"the table {what} {n} rows")
    random.seed(1)
    for column in ("id", "magnitude", '"at"'):
        name = "seen" if column == '"at"' else column
        values = con.execute(f"select {name} from got where {name} is not null order by 1").fetchall()
        for (value,) in random.sample(values, min(20, len(values))):
            for op in ("<", "<=", "=", ">=", ">"):
                scan = one(con, f"select count(*) from got where {name} {op} ?", [value])
                skip = one(
                    con,
                    f"select count(*) from read_parquet(?) where not kafka_tombstone and {column} {op} ?",
                    [files, value],
                )
                if scan != skip:
                    failures.append(f"{column} {op} {value}: {skip} rows in the files, {scan} in memory")
    for f in failures:
        print(f)
    print(f"{one(con, 'select count(*) from got')} rows, {len(failures)} failures")
    return 1 if failures else 0


def one(con, query, args=()):
    return con.execute(query, args).fetchall()[0][0]


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))

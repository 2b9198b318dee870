"""Converts events to Parquet with DuckDB on one thread, and says what it cost.

Usage: duck.py EVENTS.ndjson OUT.parquet ROUNDS

The same twelve columns, types and codec as the benchmark of the sink. Prints
one line of JSON: processor time in microseconds for each event, of each round,
and the size of the file. Needs the Python package duckdb (checked with 2.0.1).
"""

import json
import os
import resource
import sys

import duckdb

COLUMNS = """{event_id: 'UUID', event_time: 'TIMESTAMP', user_id: 'BIGINT', event_type: 'VARCHAR', url: 'VARCHAR', country: 'VARCHAR',
price: 'DOUBLE', quantity: 'INTEGER', session_id: 'VARCHAR', device: 'STRUCT(os VARCHAR, version VARCHAR, model VARCHAR)', tags: 'VARCHAR[]', referrer: 'VARCHAR'}"""


def main(events, out, rounds):
    con = duckdb.connect()
    con.execute("set threads = 1")
    micros = []
    for _ in range(int(rounds)):
        before = resource.getrusage(resource.RUSAGE_SELF)
        (n,) = con.execute(
            f"""copy (from read_json('{events}', format = 'newline_delimited', columns = {COLUMNS}))
            to '{out}' (format parquet, compression zstd, compression_level 1)"""
        ).fetchone()
        after = resource.getrusage(resource.RUSAGE_SELF)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        micros.append(spent * 1e6 / n)
    print(json.dumps({"micros": micros, "bytes": os.path.getsize(out), "version": duckdb.__version__}))


main(*sys.argv[1:])

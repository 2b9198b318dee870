"""Checks ids in Parquet files with an independent reader.

Usage: ids.py SENT < FILES

FILES are paths, one a line. The rows must have the column id, whose values are
those from 0 to SENT-1 once each, and the column payload, which is the md5 of
the id in decimal. Prints one line of JSON: files, rows, lost, doubled (rows too
many), strange (ids that were not sent), wrong (rows whose payload is not that
of their id) and disorder (rows of a file that are not behind the one before
them in the log).

Needs the Python package duckdb (checked with 2.0.1).
"""

import json
import sys

import duckdb


def main(sent, files):
    con = duckdb.connect()
    con.execute("set threads = 2")
    con.execute("create table got as select id, count(*) n, count(*) filter (payload is distinct from md5(id::varchar)) wrong from read_parquet(?) group by id", [files])
    row = con.execute(
        """select coalesce(sum(n), 0), ? - count(*) filter (id >= 0 and id < ?), coalesce(sum(n), 0) - count(*),
        count(*) filter (id is null or id < 0 or id >= ?), coalesce(sum(wrong), 0) from got""",
        [sent, sent, sent],
    ).fetchone()
    disorder = con.execute(
        """select count(*) from (select kafka_offset - lag(kafka_offset) over (partition by filename order by file_row_number) step
        from read_parquet(?, filename = true, file_row_number = true)) where step <= 0""",
        [files],
    ).fetchone()[0]
    row += (disorder,)
    keys = ("rows", "lost", "doubled", "strange", "wrong", "disorder")
    print(json.dumps({"files": len(files), **{k: int(v) for k, v in zip(keys, row)}}))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(int(sys.argv[1]), [line.rstrip("\n") for line in sys.stdin])

"""Answers queries of a test with one DuckDB, since each start costs a second.

Reads one JSON object a line, {"sql": "...", "args": [...]}, and prints one,
{"rows": [[...], ...]} or {"error": "..."}. Bytes and times are to be cast to
text by the query.

Needs the Python package duckdb (checked with 2.0.1).
"""

import json
import sys

import duckdb


def main():
    con = duckdb.connect()
    con.execute("set timezone = 'UTC'")
    for line in sys.stdin:
        query = json.loads(line)
        try:
            answer = {"rows": con.execute(query["sql"], query["args"]).fetchall()}
        except duckdb.Error as e:
            answer = {"error": str(e)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()

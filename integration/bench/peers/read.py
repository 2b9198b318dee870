"""Says what a reader of a sink's files or table sees.

Usage: read.py count COLUMN < PATHS      rows and distinct ids of Parquet files, paths one a line
       read.py iceberg CATALOG BUCKETS   paths of the live files of an Iceberg table, one a line

CATALOG is the SQLite file of a JDBC catalog with one table, BUCKETS the folder
whose folders are the buckets. Needs the Python packages duckdb and fastavro.
"""

import json
import sqlite3
import sys

import duckdb
import fastavro


def count(column):
    paths = sys.stdin.read().split()
    if not paths:
        return {"rows": 0, "ids": 0}
    rows, ids = duckdb.connect().execute(f"select count(*), count(distinct {column}::varchar) from read_parquet($1)", [paths]).fetchone()
    return {"rows": rows, "ids": ids}


def live(catalog, buckets):
    def local(uri):
        return buckets + "/" + uri.removeprefix("s3://")

    def avro(uri):
        with open(local(uri), "rb") as f:
            yield from fastavro.reader(f)

    (uri,) = sqlite3.connect(f"file:{catalog}?mode=ro", uri=True).execute("select metadata_location from iceberg_tables").fetchone()
    with open(local(uri)) as f:
        table = json.load(f)
    current = [s for s in table.get("snapshots", []) if s["snapshot-id"] == table.get("current-snapshot-id")]
    for snapshot in current:
        for manifest in avro(snapshot["manifest-list"]):
            for entry in avro(manifest["manifest_path"]):
                if entry["status"] != 2:  # 2 is deleted
                    assert entry["data_file"]["content"] == 0, "a file of deletes: counting rows would not do"
                    yield local(entry["data_file"]["file_path"])


if sys.argv[1] == "count":
    print(json.dumps(count(sys.argv[2])))
else:
    print("\n".join(live(*sys.argv[2:])))

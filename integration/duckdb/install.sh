#!/usr/bin/env bash
# Makes a pinned DuckDB ready for Python and prints the interpreter that has it.
#
# It lies outside the checkout, beside the Kafka of ../kafka/install.sh, in a folder named by its version.
set -euo pipefail

version=2.0.1
cache=${LAKEWEIR_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lakeweir}
home=$cache/duckdb-$version

if [[ ! -e $home/ready ]]; then
	command -v python3 >/dev/null || { echo "install.sh: python3 is needed for DuckDB, and it is not on PATH" >&2; exit 1; }
	mkdir -p "$cache"
	rm -rf "$home"
	python3 -m venv "$home" >&2
	"$home/bin/python" -m pip install -q "duckdb==$version" pytz >&2
	touch "$home/ready" # last: a run that is cut short leaves nothing that looks whole
fi
echo "$home/bin/python"

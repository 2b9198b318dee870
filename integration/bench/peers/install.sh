#!/usr/bin/env bash
# Makes the peers that package registries have ready to start, and prints the folder that holds them:
# connect/ (jars of the Kafka Connect worker), iceberg/ (jars of Iceberg's sink), python/ (an interpreter with DuckDB and
# an Avro reader, which counts rows).
#
# It lies outside the checkout, beside the Kafka of ../../kafka/install.sh, in a folder named by what is pinned here.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${LAKEWEIR_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lakeweir}
sum=$(cat "$here"/connect/pom.xml "$here"/iceberg/pom.xml "$here"/install.sh | cksum | cut -d ' ' -f 1)
home=$cache/peers-$sum

if [[ ! -e $home/ready ]]; then
	for tool in mvn python3; do
		command -v $tool >/dev/null || { echo "install.sh: $tool is needed to fetch the peers, and it is not on PATH" >&2; exit 1; }
	done
	rm -rf "$home"
	mkdir -p "$home"
	for part in connect iceberg; do
		mvn -B -q -f "$here/$part/pom.xml" dependency:copy-dependencies -DoutputDirectory="$home/$part" -DincludeScope=runtime >&2
	done
	python3 -m venv "$home/python" >&2
	"$home/python/bin/python" -m pip install -q duckdb==2.0.1 fastavro==1.13.1 >&2
	touch "$home/ready" # last: a run that is cut short leaves nothing that looks whole
fi
echo "$home"

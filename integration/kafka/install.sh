#!/usr/bin/env bash
# Makes a pinned Apache Kafka ready to start and prints the folder that holds it.
#
# The folder has libs/*.jar, so `java -cp 'FOLDER/libs/*' kafka.Kafka FILE` starts a broker. It lies outside the checkout:
# under $LAKEWEIR_CACHE, else $XDG_CACHE_HOME/lakeweir, else ~/.cache/lakeweir. Its name has the checksum of pom.xml: a new
# pin is a new folder, an old one is never changed. With the folder there, this answers in milliseconds, without Maven.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${LAKEWEIR_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lakeweir}
sum=$(cksum <"$here/pom.xml" | cut -d ' ' -f 1)
home=$cache/kafka-$sum

if [[ ! -d $home/libs ]]; then
	command -v mvn >/dev/null || { echo "install.sh: Maven (mvn) is needed to fetch Kafka, and it is not on PATH" >&2; exit 1; }
	mkdir -p "$cache"
	# Resolve beside the target and rename at the end: a run that is cut short leaves nothing that looks whole.
	work=$(mktemp -d "$cache/kafka.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	cp "$here/pom.xml" "$work/"
	(cd "$work" && mvn -B -q dependency:copy-dependencies -DoutputDirectory=libs -DincludeScope=runtime) >&2
	# Two runs at once: the later one finds the folder there and drops its own.
	[[ -d $home/libs ]] || mv "$work" "$home"
fi
echo "$home"

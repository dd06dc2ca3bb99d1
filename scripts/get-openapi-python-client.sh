#!/usr/bin/env bash
# Prints the path of openapi-python-client, from the Python package index, kept in node_modules/.cache/atrium.
set -euo pipefail

version=0.29.1
here="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cache="$here/node_modules/.cache/atrium"
folder="$cache/openapi-python-client-$version"

mkdir -p "$cache"
# A virtual environment cannot be moved into place once it is made: of two that run at once, one waits.
exec 9>"$folder.lock"
flock 9
if [ ! -e "$folder/done" ]; then
  {
    rm -rf "$folder"
    python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check "openapi-python-client==$version"
    touch "$folder/done"
  } >&2
fi
echo "$folder/bin/openapi-python-client"

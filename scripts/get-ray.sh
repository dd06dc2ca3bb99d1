#!/usr/bin/env bash
# Prints the path of `ray`, from the Python package index, kept in node_modules/.cache/atrium.
set -euo pipefail

version=2.60.0
here="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cache="${ATRIUM_RAY_CACHE:-$here/node_modules/.cache/atrium}"
folder="$cache/ray-$version"

if ! command -v python3 >/dev/null 2>&1; then
  echo "there is no Python to get Ray with" >&2
  exit 3
fi
mkdir -p "$cache"
# A virtual environment cannot be moved into place once it is made: of two that run at once, one waits.
exec 9>"$folder.lock"
flock 9
if [ ! -e "$folder/done" ]; then
  {
    rm -rf "$folder"
    python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check "ray[default]==$version"
    touch "$folder/done"
  } >&2
fi
echo "$folder/bin/ray"

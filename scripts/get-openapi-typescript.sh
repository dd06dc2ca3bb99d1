#!/usr/bin/env bash
# Prints the path of openapi-typescript, from npm, kept in node_modules/.cache/atrium. It is no dependency of the
# workspace, for it needs TypeScript 5 beside it.
set -euo pipefail

version=7.13.0
here="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cache="$here/node_modules/.cache/atrium"
folder="$cache/openapi-typescript-$version"

if [ ! -e "$folder/done" ]; then
  mkdir -p "$cache"
  # Made beside its place and moved into it, so that nobody ever runs half of it.
  build="$(mktemp -d "$cache/build.XXXXXX")"
  trap 'rm -rf "$build"' EXIT
  {
    echo '{ "private": true }' > "$build/package.json"
    npm install --prefix "$build" --no-audit --no-fund --silent "openapi-typescript@$version" typescript@5
    touch "$build/done"
    mv -T "$build" "$folder" || test -e "$folder/done"
  } >&2
fi
echo "$folder/node_modules/.bin/openapi-typescript"

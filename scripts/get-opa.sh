#!/usr/bin/env bash
# Prints the path of an `opa` binary for the policy tests: $OPA_BIN, that on PATH, or one built here with Go.
# The build is kept in node_modules/.cache/atrium, so only the first one takes minutes.
set -euo pipefail

version=v1.22.0
here="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
folder="${ATRIUM_OPA_CACHE:-$here/node_modules/.cache/atrium}/opa-$version"

if [ -n "${OPA_BIN:-}" ]; then echo "$OPA_BIN"; exit 0; fi
if command -v opa >/dev/null 2>&1; then command -v opa; exit 0; fi
if [ -x "$folder/opa" ]; then echo "$folder/opa"; exit 0; fi
if [ "${1:-}" = --no-build ]; then echo "no opa: set OPA_BIN, or run scripts/get-opa.sh" >&2; exit 3; fi
if ! command -v go >/dev/null 2>&1; then
  echo "no opa on PATH, no OPA_BIN, and no Go to build it with" >&2
  exit 3
fi

echo "building opa $version with $(go version | cut -d' ' -f3); this takes a few minutes once" >&2
mkdir -p "$folder"
# Built beside its place and moved into it, so that nobody ever runs half a file. Without cgo no compiler is needed.
build="$(mktemp -d "$folder/build.XXXXXX")"
trap 'rm -rf "$build"' EXIT
CGO_ENABLED=0 GOBIN="$build" nice go install -trimpath -ldflags='-s -w' "github.com/open-policy-agent/opa@$version" >&2
mv "$build/opa" "$folder/opa"
echo "$folder/opa"

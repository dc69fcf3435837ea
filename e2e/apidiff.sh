#!/usr/bin/env bash
# Prints how the Go API differs from another git revision: incompatible changes first.
#
#   e2e/apidiff.sh APIDIFF REVISION
set -euo pipefail
cd "$(dirname "$0")/.."
apidiff=$1 revision=$2 module=$(go list -m)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
git archive "$revision" | tar -x -C "$tmp"
(cd "$tmp" && "$apidiff" -m -w "$tmp/old.api" "$module")
echo "## Go API, compared with $revision"
"$apidiff" -m "$tmp/old.api" "$module"

#!/bin/sh
# Writes what the renderer of OLM v1 makes of the bundles of a directory: CHECKOUT is a clone of
# operator-framework/operator-controller, bare or not, REF a commit of it. Then "OLMGEN_ORACLE=DIR make conformance"
# compares olmgen with it, where DIR/olm-v1 is OUT.
set -eu
if [ $# != 4 ]; then
	echo "render.sh CHECKOUT REF BUNDLES OUT" >&2
	exit 1
fi
main=$(cd "$(dirname "$0")" && pwd)/main.go.txt
src=$(mktemp -d)
trap 'rm -rf "$src"' EXIT
git -C "$1" archive "$2" go.mod go.sum api applyconfigurations internal | tar -x -C "$src"
mkdir -p "$src/internal/olmgen"
cp "$main" "$src/internal/olmgen/main.go"
(cd "$src" && CGO_ENABLED=0 go build -mod=mod -tags containers_image_openpgp -o renderer ./internal/olmgen)
"$src/renderer" "$3" "$4"
git -C "$1" log -1 --format='operator-controller %H of %cs' "$2"

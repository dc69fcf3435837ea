#!/bin/sh
# Builds kustomize-controller and copies the CRDs of Flux's API into the directory that the argument names.
set -eu
out=$1
export CGO_ENABLED=0
go build -trimpath -o "$out/" github.com/fluxcd/kustomize-controller
module=$(go list -m -f '{{.Dir}}' github.com/fluxcd/kustomize-controller)
cp "$module"/config/crd/bases/*.yaml "$out/"
chmod u+w "$out"/*.yaml

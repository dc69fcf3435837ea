#!/bin/sh
# Builds kustomize and kpt into the directory of the argument.
set -eu
export CGO_ENABLED=0
go build -trimpath -o "$1/kustomize" sigs.k8s.io/kustomize/kustomize/v5
cd kpt
go build -trimpath -o "$1/kpt" .

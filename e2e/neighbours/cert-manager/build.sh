#!/bin/sh
# Builds cert-manager into the directory of the argument, with its CRDs.
set -eu
CGO_ENABLED=0 go build -trimpath -o "$1/cert-manager" .
mkdir -p "$1/crds"
cp "$(go list -m -f '{{.Dir}}' github.com/cert-manager/cert-manager)"/deploy/crds/*.yaml "$1/crds/"
chmod u+w "$1"/crds/*

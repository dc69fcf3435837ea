#!/bin/sh
# Builds Argo CD's engine into the directory that the argument names.
set -eu
export CGO_ENABLED=0
go build -trimpath -o "$1/" .

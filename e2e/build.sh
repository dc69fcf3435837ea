#!/bin/sh
# Builds what the harness runs into .bin, from the versions that the go.mod files here say, and the neighbours that the
# arguments name.
set -eu
cd "$(dirname "$0")"
bin=$PWD/.bin
neighbours=$*
version=$(cd kubernetes && go list -m -f '{{.Version}}' k8s.io/kubernetes)
minor=${version#v1.}
set -- -X "k8s.io/component-base/version.gitVersion=$version" -X k8s.io/component-base/version.gitMajor=1 \
	-X "k8s.io/component-base/version.gitMinor=${minor%%.*}"
export CGO_ENABLED=0
mkdir -p "$bin"
(cd etcd && go build -trimpath -o "$bin/etcd" .)
(cd kubernetes && go build -trimpath -ldflags "$*" -o "$bin/" k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kube-controller-manager)
(cd olm && go build -trimpath -o "$bin/" github.com/operator-framework/operator-lifecycle-manager/cmd/olm github.com/operator-framework/operator-lifecycle-manager/cmd/catalog)
(cd harness && go build -trimpath -o "$bin/harness" .)
(cd .. && go build -trimpath -o "$bin/olmgen" ./cmd/olmgen)
crds=$(cd harness && go list -m -f '{{.Dir}}' github.com/operator-framework/api)/crds
rm -rf "$bin/crds"
mkdir "$bin/crds"
cp "$crds"/*.yaml "$bin/crds/"

# A neighbour's build.sh writes programs and manifests into the directory that its argument names.
for neighbour in $neighbours; do
	test -f "neighbours/$neighbour/build.sh" || { echo "there is no e2e/neighbours/$neighbour/build.sh" >&2; exit 1; }
	rm -rf "${bin:?}/$neighbour"
	mkdir "$bin/$neighbour"
	(cd "neighbours/$neighbour" && ./build.sh "$bin/$neighbour")
done

#!/usr/bin/env bash
# Builds what the arguments name into .bin, from the versions that the go.mod files here say: "harness" with what it
# runs, "resolver", or a neighbour. A program stays in $OLMGEN_TOOLS, so that only what differs is built again.
set -euo pipefail
cd "$(dirname "$0")"
bin=$PWD/.bin root=${PWD%/*}
tools=${OLMGEN_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/olmgen}
export CGO_ENABLED=0
mkdir -p "$bin" "$tools"

# digest prints one of the files whose names it reads, of this script, and of what a build depends on beside them.
digest() {
	{ go env GOVERSION GOOS GOARCH && cat build.sh && sort -u | xargs -d '\n' cat; } | sha256sum | cut -c 1-16
}

# sources DIR: the files of this repository that the program in DIR is compiled from.
sources() {
	(cd "$1" && go list -deps -f '{{if not .Standard}}{{range .GoFiles}}{{$.Dir}}/{{.}}
{{end}}{{range .EmbedFiles}}{{$.Dir}}/{{.}}
{{end}}{{end}}' . | grep "^$root/")
	echo "$root/go.mod"
	find "$1" -maxdepth 1 -name 'go.*'
}

# kept NAME DIGEST FUNCTION: prints a directory that the function has filled, once.
kept() {
	local dir=$tools/$1-$2 new
	if [ ! -d "$dir" ]; then
		new=$(mktemp -d "$tools/.$1-XXXXXX")
		chmod 755 "$new"
		"$3" "$new" >&2 || { rm -rf "$new"; exit 1; }
		mv -T "$new" "$dir" || rm -rf "$new" # another build was quicker
	fi
	touch "$dir"
	find "$tools" -maxdepth 1 -name "$1-*" -mtime +14 -exec rm -rf {} + # what nothing has asked for
	echo "$dir"
}

etcd() { cd etcd && go build -trimpath -o "$1/etcd" .; }
kubernetes() {
	cd kubernetes
	version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
	minor=${version#v1.}
	go build -trimpath -o "$1/" -ldflags "-X k8s.io/component-base/version.gitVersion=$version \
		-X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=${minor%%.*}" \
		k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kube-controller-manager
}
olm() {
	cd olm
	go build -trimpath -o "$1/" github.com/operator-framework/operator-lifecycle-manager/cmd/{olm,catalog}
}
harness() { cd harness && go build -trimpath -o "$1/harness" .; }
resolver() { cd resolver && go build -trimpath -o "$1/resolver" .; }
neighbour() { cd "neighbours/$name" && ./build.sh "$1"; }

for name in "$@"; do
	case $name in
	harness)
		for part in etcd kubernetes olm; do
			dir=$(kept "$part" "$(find "$part" -type f | digest)" "$part")
			ln -sf "$dir"/* "$bin/"
		done
		dir=$(kept harness "$(sources harness | digest)" harness)
		ln -sf "$dir/harness" "$bin/harness"
		(cd .. && go build -trimpath -o "$bin/" ./cmd/olmgen ./cmd/olmgen-validate)
		crds=$(cd harness && go list -m -f '{{.Dir}}' github.com/operator-framework/api)/crds
		rm -rf "$bin/crds"
		mkdir "$bin/crds"
		cp "$crds"/*.yaml "$bin/crds/"
		;;
	resolver)
		dir=$(kept resolver "$(sources resolver | digest)" resolver)
		ln -sf "$dir/resolver" "$bin/resolver"
		;;
	*)
		# A neighbour's build.sh writes programs and manifests into the directory that its argument names.
		test -f "neighbours/$name/build.sh" || { echo "there is no e2e/neighbours/$name/build.sh" >&2; exit 1; }
		dir=$(kept "$name" "$(find "neighbours/$name" -type f | digest)" neighbour)
		rm -rf "${bin:?}/$name"
		ln -s "$dir" "$bin/$name"
		;;
	esac
done

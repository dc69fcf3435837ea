#!/bin/sh
# Builds operator-controller and catalogd of the versions that the directory's check runs, as
# DIR/VERSION/{operator-controller,catalogd,crds}. Each is built from a copy of its module, so that its own go.mod with
# its "replace" lines counts, with three changes: boxcutter is the stub beside this file, the token of the
# ServiceAccount is read from a file that an environment variable names instead of the place where a pod has it, and
# catalogd's webhook listens on loopback only.
set -eu
cd "$(dirname "$0")"
out=$1
stub=$PWD/boxcutter
export CGO_ENABLED=0
for version in ${OLMV1_VERSIONS:-v1.11.0 v1.10.0}; do
	module=$(go mod download -json "github.com/operator-framework/operator-controller@$version" |
		sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	src=$out/$version/src
	mkdir -p "$src"
	for part in go.mod go.sum api applyconfigurations cmd internal; do
		cp -R "$module/$part" "$src/"
	done
	chmod -R u+w "$src"
	edit() { # FILE FROM TO: a line that is not there any more is an error
		grep -qF "$2" "$src/$1" || { echo "$version: $1 has no line with $2" >&2; exit 1; }
		sed -i "s|$2|$3|" "$src/$1"
	}
	edit internal/shared/util/sa/serviceaccount.go '"/var/run/secrets/kubernetes.io/serviceaccount/token"' \
		'os.Getenv("OLMGEN_TOKEN_FILE")'
	edit cmd/catalogd/main.go 'Port: cfg.webhookPort,' 'Host: "127.0.0.1", Port: cfg.webhookPort,'
	(
		cd "$src"
		go mod edit -replace "pkg.package-operator.run/boxcutter=$stub"
		go build -mod=mod -trimpath -tags containers_image_openpgp -o "$out/$version/" ./cmd/operator-controller ./cmd/catalogd
	)
	for set in standard experimental; do
		mkdir -p "$out/$version/crds/$set"
		cp "$module"/helm/olmv1/base/*/crd/"$set"/*.yaml "$out/$version/crds/$set/"
	done
	rm -rf "$src"
done

#!/usr/bin/env bash
# Builds the container image of a release from the binaries that goreleaser has built, and pushes it: the three programs
# side by side on a static base, for two platforms. The same binaries give the same bytes. Prints the image by digest.
#
#   e2e/image.sh CRANE DIST REPOSITORY TAG...
set -euo pipefail
crane=$1 dist=$2 repository=$3
shift 3
base=${OLMGEN_IMAGE_BASE:-gcr.io/distroless/static-debian12@sha256:d093aa3e30dbadd3efe1310db061a14da60299baff8450a17fe0ccc514a16639}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

manifests=()
for arch in amd64 arm64; do
	mkdir -p "$tmp/$arch/usr/local/bin"
	for program in olmgen olmgen-validate olmgen-helm; do
		cp "$dist/${program}_linux_$arch"*/"$program" "$tmp/$arch/usr/local/bin/"
	done
	tar --create --file "$tmp/$arch.tar" --directory "$tmp/$arch" --sort=name --mtime=@0 --mode=0755 --owner=0 --group=0 --numeric-owner usr
	manifests+=(--manifest "$("$crane" mutate "$base" --platform "linux/$arch" --append "$tmp/$arch.tar" \
		--entrypoint /usr/local/bin/olmgen --user 65532 --repo "$repository")")
done
image=$("$crane" index append "${manifests[@]}" --tag "$repository:$1")
for tag in "${@:2}"; do
	"$crane" tag "$image" "$tag" >&2
done
echo "$image"

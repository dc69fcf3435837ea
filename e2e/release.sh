#!/usr/bin/env bash
# Compares what README.md and docs/install.md say of releases with the tags. Builds the binaries of a release for this
# machine twice, from two clones in different directories, and compares them.
#
#   e2e/release.sh GORELEASER
set -euo pipefail
cd "$(dirname "$0")/.."
goreleaser=$1

# says TEXT FILE...: fails unless each file has the text.
says() {
	local text=$1 file
	shift
	for file in "$@"; do
		grep -qF "$text" "$file" || { echo "$0: $file does not say \"$text\"" >&2; exit 1; }
	done
}
yet='No release is published yet' latest='go install github.com/olmgen/olmgen/cmd/olmgen@latest'
says "$latest" docs/install.md
if [ -z "$(git tag --list 'v[0-9]*' | grep -vx v0.0.0-check)" ]; then
	says "$yet" README.md docs/install.md
elif grep -F "$yet" README.md docs/install.md; then
	echo "$0: there is a release: $(git tag --list 'v[0-9]*' | tail -n 1)" >&2
	exit 1
else
	says "$latest" README.md
fi

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

git clone --quiet --no-hardlinks . "$tmp/one/a"
git clone --quiet "$tmp/one/a" "$tmp/two/bb"
for clone in one/a two/bb; do
	(
		cd "$tmp/$clone"
		git tag --force v0.0.0-check >/dev/null
		"$goreleaser" build --snapshot --single-target --clean --skip=before >build.log 2>&1 || { cat build.log >&2; exit 1; }
	)
done
(cd "$tmp/one/a/dist" && find . -type f -name 'olmgen*' -perm -u+x | sort | xargs sha256sum) >"$tmp/one.sums"
(cd "$tmp/two/bb/dist" && find . -type f -name 'olmgen*' -perm -u+x | sort | xargs sha256sum) >"$tmp/two.sums"
if [ "$(wc -l <"$tmp/one.sums")" -ne 3 ]; then
	echo "$0: there are not three binaries:" >&2
	cat "$tmp/one.sums" >&2
	exit 1
fi
diff "$tmp/one.sums" "$tmp/two.sums"
echo "equal bytes:"
cat "$tmp/one.sums"

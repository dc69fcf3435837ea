#!/usr/bin/env bash
# Builds the binaries of a release for this machine twice, from two clones in different directories, and compares them.
#
#   e2e/release.sh GORELEASER
set -euo pipefail
cd "$(dirname "$0")/.."
goreleaser=$1
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
if [ "$(wc -l <"$tmp/one.sums")" -ne 2 ]; then
	echo "$0: there are not two binaries:" >&2
	cat "$tmp/one.sums" >&2
	exit 1
fi
diff "$tmp/one.sums" "$tmp/two.sums"
echo "equal bytes:"
cat "$tmp/one.sums"

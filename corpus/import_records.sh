#!/bin/bash
# Takes over recorded results: import_records.sh RECORDS.tar [MORE.tar], or import_records.sh --add RECORDS.tar...
# The first archive becomes corpus/expected; each further one (for example one recorded through the driver's own compiler) must
# hold the same bytes, or the differing files are listed. Prints which results changed. Run check_corpus afterwards.
# With --add the archives hold some kernels each (record_corpus --only); the results of all others stay.
set -euo pipefail
corpus=$(cd "$(dirname "$0")" && pwd)
add=no
[ "${1:-}" != --add ] || { add=yes; shift; }
[ $# -ge 1 ] || { echo "usage: $0 [--add] RECORDS.tar [MORE.tar]" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for archive in "$@"; do
  folder=$work/$(basename "$archive" .tar)
  mkdir "$folder"
  tar -xf "$archive" -C "$folder"
  [ -f "$folder/RECORD.txt" ] || { echo "$archive is incomplete: no RECORD.txt" >&2; exit 1; }
  grep -v '^recorded ' "$folder/RECORD.txt" | sed "s|^|$(basename "$archive"): |"
done
if [ $add = yes ]; then
  for archive in "$@"; do
    folder=$work/$(basename "$archive" .tar)
    (cd "$folder" && find . -path './expected/*' -type f) | sort | while read -r path; do
      if [ -f "$corpus/$path" ] && ! cmp -s "$folder/$path" "$corpus/$path"; then echo "changed: ${path#./}"; fi
      cp "$folder/$path" "$corpus/$path"
    done
    # The previous log, without its lines about these launches, then this one's.
    awk '{print $2}' <(grep '^recorded ' "$folder/RECORD.txt") > "$work/again"
    awk 'NR == FNR { again[$1] = 1; next } !($1 == "recorded" && $2 in again)' "$work/again" \
      "$corpus/expected/RECORD.txt" > "$work/log"
    # GPU and date are written again only if they have changed.
    about='^(gpu|compute-capability|driver|driver-api|date) '
    if [ "$(grep -E "$about" "$work/log" | tail -5)" = "$(grep -E "$about" "$folder/RECORD.txt")" ]; then
      { cat "$work/log"; grep -vE "$about" "$folder/RECORD.txt"; } > "$corpus/expected/RECORD.txt"
    else
      cat "$work/log" "$folder/RECORD.txt" > "$corpus/expected/RECORD.txt"
    fi
    echo "$(wc -l < "$work/again") launches added from $(basename "$archive")"
  done
  exit
fi
first=$work/$(basename "$1" .tar)
for archive in "${@:2}"; do
  diff -rq "$first/expected" "$work/$(basename "$archive" .tar)/expected" || echo "$(basename "$archive") differs from $(basename "$1")"
done
sed -n 's|.* \(expected/[^ ]*\)$|\1|p' "$corpus/manifest.txt" | sort -u > "$work/wanted"
while read -r path; do
  [ -f "$first/$path" ] || { echo "not recorded: $path" >&2; exit 1; }
  if [ -f "$corpus/$path" ] && ! cmp -s "$first/$path" "$corpus/$path"; then echo "changed: $path"; fi
done < "$work/wanted"
rm -rf "$corpus/expected"
mkdir "$corpus/expected"
while read -r path; do cp "$first/$path" "$corpus/$path"; done < "$work/wanted"
cp "$first/RECORD.txt" "$corpus/expected/RECORD.txt"
echo "$(wc -l < "$work/wanted") results imported"

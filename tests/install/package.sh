#!/usr/bin/env bash
# package.sh BUILD SOURCE WORK: the .deb of a build in a root that has nothing else than it and the libraries of the packages that
# it depends on: the tool runs there, and a CUDA program prints what it prints on a GPU. Exit code 77: this machine cannot make a root.
set -euo pipefail
build=$1 source=$2 work=$3
rm -rf "$work"
mkdir -p "$work/packages" "$work/root"/{bin,tmp,proc,dev}
cd "$build"
cpack --config CPackConfig.cmake -G DEB -B "$work/packages" >"$work/cpack.log" 2>&1 || { cat "$work/cpack.log"; exit 1; }
deb=$(echo "$work"/packages/ptx2cpu_*.deb)
dpkg-deb -x "$deb" "$work/root"

# Names of packages in a field of dependencies: the first of alternatives, without versions.
names() { tr ',' '\n' | sed -E 's/\|.*//; s/\(.*\)//; s/:any//; s/[[:space:]]//g' | grep -v '^$' || true; }

# The shared objects of the packages that it depends on, and of those that they depend on.
declare -A seen
queue=$(dpkg-deb -f "$deb" Depends | names)
[ -n "$queue" ] || { echo "the package depends on nothing"; exit 1; }
while [ -n "$queue" ]; do
  next=
  for package in $queue; do
    [ -z "${seen[$package]:-}" ] || continue
    seen[$package]=yes
    dpkg-query -L "$package" 2>/dev/null | grep -E '\.so(\.|$)' >>"$work/objects" || true
    next+=" $(dpkg-query -W -f='${Depends},${Pre-Depends}\n' "$package" 2>/dev/null | names | tr '\n' ' ')"
  done
  queue=$next
done
while read -r file; do
  if [ -f "$file" ]; then echo "${file#/}"; fi
done <"$work/objects" | tar -C / -cf - -T - | tar -C "$work/root" -xf -
# A merged /usr, as on Debian: the loader's own path is /lib64.
for name in lib lib64; do
  if [ -d "$work/root/$name" ]; then
    mkdir -p "$work/root/usr/$name"
    cp -a "$work/root/$name/." "$work/root/usr/$name/"
    rm -rf "$work/root/$name"
  fi
  ln -s "usr/$name" "$work/root/$name"
done
cp "$source/tests/programs/bin/symbols" "$source/corpus/bin/saxpy.fatbin" "$work/root/tmp/"

inside() { unshare --map-root-user --user --mount-proc --pid --fork chroot "$work/root" "$@"; }
if [ "$(id -u)" = 0 ]; then
  inside() { chroot "$work/root" "$@"; }
elif ! inside /usr/bin/ptx2cpu --version >/dev/null 2>&1 && ! unshare --map-root-user --user true 2>/dev/null; then
  echo "neither root nor a user namespace"
  exit 77
fi
expect() {
  if [ "$1" != "$2" ]; then
    printf 'expected:\n%s\nfound:\n%s\n' "$1" "$2"
    exit 1
  fi
}
version=$(inside /usr/bin/ptx2cpu --version)
expect "$("$build/bin/ptx2cpu" --version)" "$version"
[[ "$version" =~ ^ptx2cpu\ [0-9.]+.*LLVM\ 19 ]] || { echo "no version: $version"; exit 1; }
expect "$(cat "$source/tests/programs/expected/symbols.txt")" "$(inside /usr/bin/ptx2cpu exec -- /tmp/symbols)"
expect '{"arg": 2, "type": "f32", "values": [12, 24]}' "$(inside /usr/bin/ptx2cpu run /tmp/saxpy.fatbin --kernel saxpy --block 2 \
  --arg f32:2 --arg 'in:f32:[6,12]' --arg 'inout:f32:[0,0]' --arg u32:2 --interpret)"
# The commands of the job files in tools/docs/ci.md, in a folder with a program as its first section wants it.
cp "$source/tests/programs/bin/symbols" "$work/root/cuda_tests"
grep -oE '^ +- (run: )?(.*&& )?ptx2cpu (check|exec) .*' "$source/tools/docs/ci.md" | sed -E 's/^ +- (run: )?(.*&& )?//' >"$work/commands"
expect 6 "$(wc -l <"$work/commands")"
while read -r -a words; do
  if ! CUDA_CACHE_PATH=/kernel-cache inside "/usr/bin/${words[0]}" "${words[@]:1}" >"$work/log" 2>&1 </dev/null; then
    echo "${words[*]} failed:"
    cat "$work/log"
    exit 1
  fi
done <"$work/commands"
for file in findings.sarif findings.json; do
  [ -s "$work/root/$file" ] || { echo "no $file"; exit 1; }
done
[ -n "$(find "$work/root/kernel-cache" -type f)" ] || { echo "no kernel is kept"; exit 1; }
for file in usr/share/man/man1/ptx2cpu.1.gz usr/share/bash-completion/completions/ptx2cpu usr/include/ptx2cpu/runtime/engine/ptx2cpu.h \
  usr/lib/libptx2cpu.a usr/lib/libptx2cpu_rt.a usr/lib/cmake/ptx2cpu/ptx2cpuConfig.cmake usr/share/doc/ptx2cpu/copyright usr/share/doc/ptx2cpu/changelog.gz; do
  [ -s "$work/root/$file" ] || { echo "the package has no $file"; exit 1; }
done
grep -q 'License: Apache-2.0' "$work/root/usr/share/doc/ptx2cpu/copyright" || { echo "the copyright file names no licence"; exit 1; }
if command -v dpkg-parsechangelog >/dev/null; then
  zcat "$work/root/usr/share/doc/ptx2cpu/changelog.gz" >"$work/changelog"
  expect "$(dpkg-deb -f "$deb" Version)" "$(dpkg-parsechangelog -l "$work/changelog" -S Version)"
fi
# Where Debian's own check is installed, it finds no error, but that the authors have no address.
if command -v lintian >/dev/null; then
  expect "" "$(lintian --fail-on none --tag-display-limit 0 --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "$deb" 2>&1 | grep '^E: ' || true)"
fi
rm -rf "$work/root"

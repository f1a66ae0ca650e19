#!/bin/bash
# Builds corpus/bin from corpus/src with nvcc and writes the file entries of manifest.txt.
# Nothing of the product needs this: the built files are in the repository. Made with CUDA 13.0.
#   build.sh          everything
#   build.sh NAME...  only the files of these names in bin/, and their entries
set -euo pipefail
corpus=$(cd "$(dirname "$0")" && pwd)
stage=/tmp/ptx2cpu-corpus   # a fixed place, because debug information names the path of the source
rm -rf "$stage" && mkdir -p "$stage/bin" && cp -r "$corpus/src" "$stage/src" && mkdir "$stage/keep" && cd "$stage"
find src -type f -exec touch -d 2026-01-01T00:00:00Z {} +   # line information holds the time of the source

old="-gencode arch=compute_75,code=compute_75"
new="-gencode arch=compute_90,code=[sm_90,compute_90]"
both="$old $new"
only=" $* "
entries=$(mktemp)

kernels_of() { grep -hoE '__global__ void \w+' $1 | sed 's/.* //' | tr '\n' ' ' | sed 's/ $//'; }

# add KIND OUTPUT "SOURCES" "PTX TARGETS" OPTIONS...: runs nvcc and writes the entry. Kernels are those of the sources
# (and of what a host program includes).
add() {
  local kind=$1 output=$2 sources=$3 targets=$4; shift 4
  if [ "$only" != "  " ] && [[ "$only" != *" $(basename "$output") "* ]]; then
    awk -v entry="file $output" '$0 == entry { on = 1 } on { print } on && /^$/ { exit }' "$corpus/manifest.txt" >> "$entries"
    [ ! -e "$corpus/$output" ] || cp -p "$corpus/$output" "$output"
    return
  fi
  echo "nvcc $* -o $output $sources"
  # Temporary files are kept, because the names of others hold a process number that gets into objects.
  nvcc -std=c++17 -Wno-deprecated-gpu-targets --frandom-seed=corpus --keep --keep-dir keep "$@" -o "$output" $sources
  local included
  included=$(sed -nE 's|#include "../(.*\.cu)"|src/\1|p' $sources)
  {
    echo "file $output"
    echo "  kind $kind"
    echo "  source $sources"
    echo "  command nvcc -std=c++17 $* -o $output $sources"
    echo "  sha256 $(sha256sum "$output" | cut -d' ' -f1)"
    echo "  size $(stat -c %s "$output")"
    echo "  ptx $targets" | sed 's/ $//'
    echo "  kernels $(kernels_of "$sources $included")" | sed 's/ $//'
    echo
  } >> "$entries"
}

# Every source: PTX for sm_75 and sm_90, machine code for sm_90; the ways of compression in turn.
modes=(default speed none size)
turn=0
for source in src/*.cu; do
  name=$(basename "$source" .cu)
  mode=${modes[turn++ % 4]}
  [ "$name" = sha256 ] && mode=size   # the largest one
  add fatbin "bin/$name.fatbin" "$source" "sm_75 sm_90" -fatbin $both --compress-mode=$mode
done

# Synchronisation: the same; and what only sm_90 has.
turn=0
for source in src/sync/*.cu; do
  add fatbin "bin/$(basename "$source" .cu).fatbin" "$source" "sm_75 sm_90" -fatbin $both --compress-mode=${modes[turn++ % 4]}
done
for source in src/sm_90/*.cu; do
  add fatbin "bin/$(basename "$source" .cu).fatbin" "$source" "sm_90" -fatbin $new
done

# One source in every way of compression, and other make-ups of the container.
for mode in none speed balance size; do
  add fatbin "bin/matmul.$mode.fatbin" src/matmul.cu "sm_75 sm_90" -fatbin $both --compress-mode=$mode
done
add fatbin bin/stencil.lineinfo.fatbin src/stencil.cu "sm_75 sm_90" -fatbin -lineinfo $both
add fatbin bin/stencil.debug.fatbin src/stencil.cu "sm_75 sm_90" -fatbin -G $both
add fatbin bin/reduction.lineinfo.fatbin src/reduction.cu "sm_90" -fatbin -lineinfo -gencode arch=compute_90,code=compute_90
add fatbin bin/device_calls.debug.fatbin src/device_calls.cu "sm_90" -fatbin -G -gencode arch=compute_90,code=compute_90
add fatbin bin/saxpy.options.fatbin src/saxpy.cu "sm_75 sm_90" -fatbin $both -maxrregcount 32 --fmad=false
add fatbin bin/vector_add.many.fatbin src/vector_add.cu "sm_75 sm_80 sm_90 sm_120" -fatbin \
  -gencode arch=compute_75,code=[sm_75,compute_75] -gencode arch=compute_80,code=[sm_80,sm_86,compute_80] \
  -gencode arch=compute_90,code=[sm_90,compute_90] -gencode arch=compute_120,code=[sm_120,compute_120]
add fatbin bin/scan.arch_specific.fatbin src/scan.cu "sm_75 sm_90a" -fatbin $old -gencode arch=compute_90a,code=[sm_90a,compute_90a]
add fatbin bin/vector_add.cubin_only.fatbin src/vector_add.cu "" -fatbin -gencode arch=compute_90,code=sm_90
add fatbin bin/vector_add.lto.fatbin src/vector_add.cu "" -fatbin -dc -gencode arch=compute_90,code=lto_90
add ptx bin/saxpy.sm_75.ptx src/saxpy.cu sm_75 -ptx -arch=compute_75
add ptx bin/warp_exchange.sm_75.ptx src/warp_exchange.cu sm_75 -ptx -arch=compute_75
add ptx bin/warp_exchange.sm_90.ptx src/warp_exchange.cu sm_90 -ptx -arch=compute_90
add ptx bin/reduction.sm_90.ptx src/reduction.cu sm_90 -ptx -arch=compute_90
add ptx bin/stencil.lineinfo.sm_90.ptx src/stencil.cu sm_90 -ptx -lineinfo -arch=compute_90

# Host files. The runtime is a shared library, so none of NVIDIA's code comes in; no device link of relocatable code.
add executable bin/run_vectors src/host/run_vectors.cu "sm_75 sm_90" $both -cudart shared
add executable bin/run_reductions src/host/run_reductions.cu "sm_75 sm_90" $both -cudart shared --compress-mode=speed
add shared-object bin/library.so src/host/library.cu "sm_75 sm_90" -shared -Xcompiler -fPIC $both -cudart shared --compress-mode=none
add object bin/scan.o src/scan.cu "sm_75 sm_90" -c $both
add object bin/device_calls.dc.o src/device_calls.cu "sm_75 sm_90" -dc $both
add object bin/separate_polynomial.dc.o src/separate/separate_polynomial.cu "sm_75 sm_90" -dc $both
add archive bin/libseparate.a "src/separate/polynomial.cu src/separate/separate_polynomial.cu" "sm_75 sm_90" -lib -rdc=true $both
add archive bin/libsorting.a "src/bitonic_sort.cu src/radix_sort.cu" "sm_75 sm_90" -lib $both

# Nothing of NVIDIA's may come in: no static runtime, no device runtime, no device-linked code.
for file in bin/run_* bin/*.so bin/*.o bin/*.a; do
  if nm -C "$file" 2>/dev/null | grep -E ' [TtDdBb] .*(cudart|cudadevrt|cudaCDP|__cudaRegisterLinkedBinary)|cudart::'; then
    echo "$file contains NVIDIA's code" >&2; exit 1
  fi
done
large=$(find bin -size +200k)
[ -z "$large" ] || { echo "too large: $large" >&2; exit 1; }
du -sb bin

rm -rf "$corpus/bin" && cp -r bin "$corpus/bin"
manifest=$corpus/manifest.txt
{
  sed '/^# Files/,$d' "$manifest"
  echo "# Files, written by build.sh."; echo
  cat "$entries"
  sed -n '/^# Kernels/,$p' "$manifest"
} > "$manifest.new"
mv "$manifest.new" "$manifest"
rm -rf "$entries" "$stage"

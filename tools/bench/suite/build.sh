#!/usr/bin/env bash
# tools/bench/suite/build.sh [FAMILY...]: bin/FAMILY.fatbin from FAMILY/kernels.cu with nvcc 13.0, PTX for sm_90 only.
# Nothing of the product needs this: the built files are in the repository.
set -euo pipefail
cd "$(dirname "$0")"
for source in */kernels.cu; do
  family=$(dirname "$source")
  if [ $# -gt 0 ] && [[ " $* " != *" $family "* ]]; then continue; fi
  nvcc -std=c++17 --frandom-seed=suite -fatbin -gencode arch=compute_90,code=compute_90 -o "bin/$family.fatbin" "$source"
done

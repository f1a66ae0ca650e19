#!/bin/sh
# Builds test programs with nvcc. build.sh [--nvcc PATH] [--to FOLDER] [PROGRAM ...]; without names: those of bin/.
set -eu
cd "$(dirname "$0")/sources"
nvcc=nvcc
to=../bin
while [ $# -gt 0 ]; do
  case "$1" in
    --nvcc) nvcc=$2; shift 2 ;;
    --to) to=$2; shift 2 ;;
    *) break ;;
  esac
done
mkdir -p "$to"
to=$(cd "$to" && pwd)
# nvcc writes the sources' folder into the line tables. For bin/ it has the same name wherever the tree is.
if [ $# -eq 0 ]; then
  build=/tmp/ptx2cpu-programs
  rm -rf "$build"
  cp -r . "$build"
  cd "$build"
fi
ptx="-std=c++17 -w -gencode arch=compute_75,code=compute_75"
# Separate compilation needs a target to link for; the relocatable PTX stays beside it.
relocatable="-std=c++17 -w -rdc=true -gencode arch=compute_75,code=[compute_75,sm_75]"
for program in ${@:-symbols streams graphs errors memory device_services textures cooperative linked look_back profiled orders inlined device_heap}; do
  case "$program" in
    linked) $nvcc $relocatable -lineinfo -cudart shared -o "$to/$program" linked_main.cu linked_other.cu ;;
    static_linked) $nvcc $relocatable -o "$to/$program" linked_main.cu linked_other.cu ;;
    static_*) $nvcc $ptx -o "$to/$program" "${program#static_}.cu" ;;
    thrust) $nvcc $ptx -o "$to/$program" thrust.cu ;;
    dynamic_parallelism) $nvcc -std=c++17 -w -rdc=true -gencode "arch=compute_90,code=[compute_90,sm_90]" -o "$to/$program" dynamic_parallelism.cu -lcudadevrt ;;
    per_thread_streams) $nvcc $ptx --default-stream per-thread -cudart shared -o "$to/$program" streams.cu ;;
    *) $nvcc $ptx -lineinfo -cudart shared -o "$to/$program" "$program.cu" && strip "$to/$program" ;;
  esac
done

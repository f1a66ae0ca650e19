// The library that `ptx2cpu exec` preloads. Before any constructor of the program runs, the functions of a
// CUDA runtime that was linked into it become jumps to ours, of the same version; so none of that runtime
// executes, its constructors and its check of the driver included. The same happens to libraries that are
// opened later, and to CUDA libraries that the program finds before ours. Programs without any of this are
// left as they are.
#include <unistd.h>

#include "runtime/cuda/redirect/watch.h"

namespace ptx2cpu::redirect {

namespace {

// The loader passes main's arguments to constructors. This one runs even before the C library's own, which
// sets `environ`.
__attribute__((constructor)) void Start(int, char**, char** environment) {
  if (environ == nullptr) environ = environment;
  LookAtProgram();
  WatchLoader();
}

}  // namespace

}  // namespace ptx2cpu::redirect

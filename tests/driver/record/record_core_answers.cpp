// Asks a real CUDA driver one group of tests/driver/core_questions.h. On a machine with a GPU:
// clang-format off
//   c++ -std=c++20 -I$CUDA/include tests/driver/record/record_core_answers.cpp -L$CUDA/lib64/stubs -lcuda -o record_core
//   for g in before_init proc_address ... (all of kGroups); do echo "[$g]"; ./record_core $g || echo "ended with $?"; done
// clang-format on
// Its output is tests/driver/core_answers.txt.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>

#include "../core_questions.h"

int main(int argc, char** argv) { return core_questions::Main(argc, argv); }

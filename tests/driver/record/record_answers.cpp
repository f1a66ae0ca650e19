// Asks a real CUDA driver what tests/driver/memory_questions.h and its siblings ask, and prints the answers:
// clang-format off
//   c++ -std=c++20 -I$CUDA/include tests/driver/record/record_answers.cpp -L$CUDA/lib64/stubs -lcuda -o record_answers
//   ./record_answers > tests/driver/memory_answers.txt
// clang-format on
#include <cuda.h>

#include "../array_questions.h"
#include "../pool_questions.h"
#include "../reference_questions.h"
#include "ask_driver.h"

using namespace memory_questions;

int main() {
  int version = 0;
  cuDriverGetVersion(&version);
  std::printf("# driver for CUDA %d\n", version);
  AskDriver({AskAllocation, AskHostMemory, AskPointerAttributes, AskCopies, AskSets, AskArrays, AskMipmaps,
             AskArrayCopies, AskTextures, AskPools, AskVirtualMemory, AskManaged, AskBatches, AskReferences,
             AskViews});
  return 0;
}

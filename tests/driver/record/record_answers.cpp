// Asks a real CUDA driver what tests/driver/memory_questions.h and its siblings ask, and prints the answers:
// clang-format off
//   c++ -std=c++20 -I$CUDA/include tests/driver/record/record_answers.cpp -L$CUDA/lib64/stubs -lcuda -o record_answers
//   ./record_answers > tests/driver/memory_answers.txt
// clang-format on
#include <cuda.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "../array_questions.h"
#include "../pool_questions.h"
#include "../reference_questions.h"

namespace {

using namespace memory_questions;

void Print(const std::string& label, const std::string& answer) {
  std::printf("%s: %s\n", label.c_str(), answer.c_str());
  std::fflush(stdout);
}

// In a process of its own: a question that breaks the driver costs the rest of its group only.
int Ask(void (*questions)(Answers&)) {
  CUcontext context = nullptr;
  if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
      cuCtxSetCurrent(context) != CUDA_SUCCESS)
    return 1;
  Answers answers;
  answers.told = Print;
  questions(answers);
  const CUresult state = cuCtxSynchronize();
  if (state != CUDA_SUCCESS) std::printf("# context broken: %d\n", static_cast<int>(state));
  std::fflush(stdout);
  return 0;
}

}  // namespace

int main() {
  int version = 0;
  cuDriverGetVersion(&version);
  std::printf("# driver for CUDA %d\n", version);
  for (auto questions : {AskAllocation, AskHostMemory, AskPointerAttributes, AskCopies, AskSets, AskArrays,
                         AskMipmaps, AskArrayCopies, AskTextures, AskPools, AskVirtualMemory, AskManaged,
                         AskBatches, AskReferences, AskViews}) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) _exit(Ask(questions));
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) std::printf("# ended with %d\n", status);
  }
  return 0;
}

// Asks a real CUDA driver what tests/driver/stream_questions.h and graph_questions.h ask, and prints the
// answers:
// clang-format off
//   clang++ -std=c++20 -I$CUDA/include tests/driver/record/record_stream_answers.cpp -L$CUDA/lib64/stubs -lcuda -o record_stream_answers
//   ./record_stream_answers > tests/driver/stream_answers.txt
// clang-format on
#include <cuda.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "../graph_questions.h"

namespace {

using namespace stream_questions;

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
  return 0;
}

}  // namespace

int main() {
  for (auto questions : {AskStreams, AskEvents, AskCapture, AskNodes, AskEdges, AskUpdates, AskGraphMemory}) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) _exit(Ask(questions));
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) std::printf("# ended with %d\n", status);
  }
  return 0;
}

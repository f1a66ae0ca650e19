// Asks a real CUDA driver what tests/driver/stream_questions.h and graph_questions.h ask, and prints the
// answers:
// clang-format off
//   clang++ -std=c++20 -I$CUDA/include tests/driver/record/record_stream_answers.cpp -L$CUDA/lib64/stubs -lcuda -o record_stream_answers
//   ./record_stream_answers > tests/driver/stream_answers.txt
// clang-format on
#include <cuda.h>

#include "../graph_questions.h"
#include "ask_driver.h"

using namespace stream_questions;

int main() {
  AskDriver({AskStreams, AskEvents, AskCapture, AskNodes, AskEdges, AskUpdates, AskGraphMemory});
  return 0;
}

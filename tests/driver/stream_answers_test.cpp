// Our driver answers to questions about streams, events, capture and graphs as an H200's does.
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "tests/driver/stream_program.h"

using namespace driver_stream_test;  // NOLINT: the questions name CUDA's functions without a namespace

// A program's names, as cuda.h of CUDA 13 gives them to the forms that it means.
#define cuStreamDestroy cuStreamDestroy_v2
#define cuStreamBeginCapture cuStreamBeginCapture_v2
#define cuStreamUpdateCaptureDependencies cuStreamUpdateCaptureDependencies_v2
#define cuStreamWriteValue32 cuStreamWriteValue32_v2
#define cuStreamWriteValue64 cuStreamWriteValue64_v2
#define cuStreamWaitValue32 cuStreamWaitValue32_v2
#define cuStreamBatchMemOp cuStreamBatchMemOp_v2
#define cuEventDestroy cuEventDestroy_v2
#define cuEventElapsedTime cuEventElapsedTime_v2
#define cuGraphInstantiate cuGraphInstantiateWithFlags
#define cuGraphAddDependencies cuGraphAddDependencies_v2
#define cuGraphRemoveDependencies cuGraphRemoveDependencies_v2
#define cuGraphGetEdges cuGraphGetEdges_v2
#define cuGraphNodeGetDependencies cuGraphNodeGetDependencies_v2
#define cuGraphAddKernelNode cuGraphAddKernelNode_v2
#define cuGraphKernelNodeGetParams cuGraphKernelNodeGetParams_v2
#define cuGraphKernelNodeSetParams cuGraphKernelNodeSetParams_v2
#define cuGraphExecKernelNodeSetParams cuGraphExecKernelNodeSetParams_v2
#define cuGraphExecUpdate cuGraphExecUpdate_v2
#define cuMemAlloc cuMemAlloc_v2
#define cuMemFree cuMemFree_v2
#define cuMemAllocHost cuMemAllocHost_v2
#define cuMemAllocPitch cuMemAllocPitch_v2
#define cuMemGetAddressRange cuMemGetAddressRange_v2
#define cuMemGetInfo cuMemGetInfo_v2
#define cuMemcpyHtoD cuMemcpyHtoD_v2
#define cuMemcpyDtoD cuMemcpyDtoD_v2
#define cuMemcpyHtoDAsync cuMemcpyHtoDAsync_v2
#define cuMemsetD8 cuMemsetD8_v2
#define cuMemHostRegister cuMemHostRegister_v2
#define cuMemHostGetDevicePointer cuMemHostGetDevicePointer_v2

#include "tests/driver/graph_questions.h"

namespace {

using namespace stream_questions;

// Where we refuse for a reason of our own: graphs are not launched from devices here, whatever is in them.
const std::set<std::string> kOwnAnswers = {"instantiate for device launch"};

std::map<std::string, std::string> Recorded() {
  std::map<std::string, std::string> answers;
  std::ifstream in(PTX2CPU_SOURCE_DIR "/tests/driver/stream_answers.txt");
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.rfind(": ");
    if (line.empty() || line[0] == '#' || colon == std::string::npos) continue;
    answers[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return answers;
}

void Compare(void (*ask)(Answers&)) {
  Program program;
  static const auto recorded = Recorded();
  Answers answers;
  ask(answers);
  CHECK(!answers.list.empty());
  for (const auto& [label, answer] : answers.list) {
    const auto found = recorded.find(label);
    INFO(label);
    REQUIRE(found != recorded.end());
    if (!kOwnAnswers.contains(label)) CHECK(answer == found->second);
  }
}

}  // namespace

TEST_CASE("answers about streams are a GPU's") { Compare(AskStreams); }
TEST_CASE("answers about events are a GPU's") { Compare(AskEvents); }
TEST_CASE("answers about capture are a GPU's") { Compare(AskCapture); }
TEST_CASE("answers about nodes are a GPU's") { Compare(AskNodes); }
TEST_CASE("answers about edges are a GPU's") { Compare(AskEdges); }
TEST_CASE("answers about updates are a GPU's") { Compare(AskUpdates); }
TEST_CASE("answers about memory of graphs are a GPU's") { Compare(AskGraphMemory); }

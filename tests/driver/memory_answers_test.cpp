// Our driver answers to questions about memory as an H200's does (memory_questions.h and its siblings).
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "memory_context.h"
#include "runtime/cuda/driver/stream/submit.h"

using namespace driver_memory_test;  // NOLINT: the questions name CUDA's functions without a namespace

namespace {

CUresult TestStreamCreate(CUstream* stream, unsigned flags) {
  Context& context = UseContext();
  const auto kind = flags == CU_STREAM_NON_BLOCKING ? ptx2cpu::rt::StreamKind::kNonBlocking
                                                    : ptx2cpu::rt::StreamKind::kBlocking;
  *stream = Publish(std::make_unique<StreamObject>(context, context.streams().NewStream(kind),
                                                   StreamObject::Role::kCreated, flags, 0));
  return CUDA_SUCCESS;
}
CUresult TestStreamSynchronize(CUstream stream) { return SynchronizeStream(*From<StreamObject>(stream)); }
CUresult TestStreamDestroy(CUstream stream) {
  return Withdraw<StreamObject>(stream) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}
CUresult TestSynchronize() { return UseContext().streams().Synchronize(), CUDA_SUCCESS; }
CUresult TestGetCurrent(CUcontext* context) { return *context = HandleOf(&UseContext()), CUDA_SUCCESS; }

}  // namespace

// A program's names, as cuda.h of CUDA 13 gives them to the forms that it means.
#define cuStreamCreate TestStreamCreate
#define cuStreamSynchronize TestStreamSynchronize
#define cuStreamDestroy TestStreamDestroy
#define cuCtxSynchronize TestSynchronize
#define cuCtxGetCurrent TestGetCurrent
#define cuMemAlloc cuMemAlloc_v2
#define cuMemFree cuMemFree_v2
#define cuMemAllocHost cuMemAllocHost_v2
#define cuMemAllocPitch cuMemAllocPitch_v2
#define cuMemGetAddressRange cuMemGetAddressRange_v2
#define cuMemHostRegister cuMemHostRegister_v2
#define cuMemHostGetDevicePointer cuMemHostGetDevicePointer_v2
#define cuMemcpyHtoD cuMemcpyHtoD_v2
#define cuMemcpyDtoH cuMemcpyDtoH_v2
#define cuMemcpyDtoD cuMemcpyDtoD_v2
#define cuMemcpyHtoDAsync cuMemcpyHtoDAsync_v2
#define cuMemcpyDtoHAsync cuMemcpyDtoHAsync_v2
#define cuMemcpyHtoA cuMemcpyHtoA_v2
#define cuMemcpyAtoH cuMemcpyAtoH_v2
#define cuMemcpyAtoD cuMemcpyAtoD_v2
#define cuMemcpyDtoA cuMemcpyDtoA_v2
#define cuMemcpyAtoA cuMemcpyAtoA_v2
#define cuMemcpy2D cuMemcpy2D_v2
#define cuMemcpy2DUnaligned cuMemcpy2DUnaligned_v2
#define cuMemcpy2DAsync cuMemcpy2DAsync_v2
#define cuMemcpy3D cuMemcpy3D_v2
#define cuMemcpy3DAsync cuMemcpy3DAsync_v2
#define cuMemcpyBatchAsync cuMemcpyBatchAsync_v2
#define cuMemsetD8 cuMemsetD8_v2
#define cuMemsetD16 cuMemsetD16_v2
#define cuMemsetD32 cuMemsetD32_v2
#define cuMemsetD2D8 cuMemsetD2D8_v2
#define cuMemsetD2D16 cuMemsetD2D16_v2
#define cuMemsetD2D32 cuMemsetD2D32_v2
#define cuArray3DCreate cuArray3DCreate_v2
#define cuArrayCreate cuArrayCreate_v2
#define cuArray3DGetDescriptor cuArray3DGetDescriptor_v2
#define cuArrayGetDescriptor cuArrayGetDescriptor_v2
#define cuMemAdvise cuMemAdvise_v2
#define cuMemPrefetchAsync cuMemPrefetchAsync_v2
#define cuTexRefSetAddress cuTexRefSetAddress_v2
#define cuTexRefGetAddress cuTexRefGetAddress_v2
#define cuTexRefSetAddress2D cuTexRefSetAddress2D_v3

#include "array_questions.h"
#include "pool_questions.h"
#include "reference_questions.h"

namespace {

using namespace memory_questions;

std::map<std::string, std::string> Recorded() {
  std::map<std::string, std::string> answers;
  std::ifstream in(PTX2CPU_SOURCE_DIR "/tests/driver/memory_answers.txt");
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.rfind(": ");
    if (line.empty() || line[0] == '#' || colon == std::string::npos) continue;
    answers[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return answers;
}

// Devices here use the program's own memory as it is (CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS); that H200
// did not.
const std::set<std::string> kPageableAccess = {
    "h2d to pageable",
    "d2h from pageable",
    "d2d from pageable",
    "d2d to pageable",
    "async h2d to pageable",
    "async d2h from pageable",
    "memset of pageable",
    "memset async of pageable",
    "2d device is pageable",
    "2d unaligned device is pageable",
    "2d async device is pageable",
};

void Compare(void (*ask)(Answers&)) {
  UseContext();
  static const auto recorded = Recorded();
  Answers answers;
  ask(answers);
  CHECK(!answers.list.empty());
  for (const auto& [label, answer] : answers.list) {
    const auto found = recorded.find(label);
    INFO(label);
    REQUIRE(found != recorded.end());
    if (kPageableAccess.contains(label)) {
      CHECK(answer == "0");
    } else {
      CHECK(answer == found->second);
    }
  }
}

}  // namespace

TEST_CASE("answers about allocation are a GPU's", "[memory]") { Compare(AskAllocation); }
TEST_CASE("answers about host memory are a GPU's", "[memory]") { Compare(AskHostMemory); }
TEST_CASE("answers about pointer attributes are a GPU's", "[memory]") { Compare(AskPointerAttributes); }
TEST_CASE("answers about copies are a GPU's", "[memory]") { Compare(AskCopies); }
TEST_CASE("answers about sets are a GPU's", "[memory]") { Compare(AskSets); }
TEST_CASE("answers about arrays are a GPU's", "[memory]") { Compare(AskArrays); }
TEST_CASE("answers about mipmapped arrays are a GPU's", "[memory]") { Compare(AskMipmaps); }
TEST_CASE("answers about copies of shapes are a GPU's", "[memory]") { Compare(AskArrayCopies); }
TEST_CASE("answers about textures are a GPU's", "[memory]") { Compare(AskTextures); }
TEST_CASE("answers about views are a GPU's", "[memory]") { Compare(AskViews); }
TEST_CASE("answers about texture references are a GPU's", "[memory]") { Compare(AskReferences); }
TEST_CASE("answers about pools are a GPU's", "[memory]") { Compare(AskPools); }
TEST_CASE("answers about virtual memory are a GPU's", "[memory]") { Compare(AskVirtualMemory); }
TEST_CASE("answers about managed memory are a GPU's", "[memory]") { Compare(AskManaged); }
TEST_CASE("answers about batches are a GPU's", "[memory]") { Compare(AskBatches); }

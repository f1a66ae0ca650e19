#include <algorithm>

#include "tests/driver/stream_program.h"

using namespace driver_stream_test;

TEST_CASE("driver streams: flags, priorities, ids, contexts") {
  Program program;
  CUstream blocking, other;
  REQUIRE_OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  REQUIRE_OK(cuStreamCreateWithPriority(&other, CU_STREAM_NON_BLOCKING, -100));
  CHECK(cuStreamCreate(&blocking, 8) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamCreate(nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
  unsigned flags = 7;
  CHECK_OK(cuStreamGetFlags(blocking, &flags));
  CHECK(flags == 0);
  CHECK_OK(cuStreamGetFlags(other, &flags));
  CHECK(flags == CU_STREAM_NON_BLOCKING);
  int priority = 7;
  CHECK_OK(cuStreamGetPriority(blocking, &priority));
  CHECK(priority == 0);
  CHECK_OK(cuStreamGetPriority(other, &priority));
  CHECK(priority == -5);
  unsigned long long first = 0, second = 0;
  CHECK_OK(cuStreamGetId(blocking, &first));
  CHECK_OK(cuStreamGetId(other, &second));
  CHECK(first != second);
  CUcontext context = nullptr;
  CHECK_OK(cuStreamGetCtx(other, &context));
  CHECK(context == program.context);
  CUdevice device = 9;
  CHECK_OK(cuStreamGetDevice(other, &device));
  CHECK(device == 0);
  CHECK_OK(cuStreamDestroy_v2(other));
  CHECK(cuStreamDestroy_v2(other) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuStreamQuery(other) == CUDA_ERROR_INVALID_HANDLE);
  int nonsense = 0;
  CHECK(cuStreamSynchronize(reinterpret_cast<CUstream>(&nonsense)) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("driver streams: attributes are kept and copied") {
  Program program;
  CUstream a, b;
  REQUIRE_OK(cuStreamCreate(&a, 0));
  REQUIRE_OK(cuStreamCreate(&b, 0));
  CUstreamAttrValue value{};
  CHECK_OK(cuStreamGetAttribute(a, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
  CHECK(value.syncPolicy == static_cast<CUsynchronizationPolicy>(-1));
  value.syncPolicy = CU_SYNC_POLICY_YIELD;
  CHECK_OK(cuStreamSetAttribute(a, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
  CHECK_OK(cuStreamCopyAttributes(b, a));
  value = {};
  CHECK_OK(cuStreamGetAttribute(b, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
  CHECK(value.syncPolicy == CU_SYNC_POLICY_YIELD);
  CHECK(cuStreamGetAttribute(b, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("driver streams: asynchronous, in order, asked whether they are done") {
  Program program;
  Log log(program);
  CUstream stream;
  REQUIRE_OK(cuStreamCreate(&stream, 0));
  Gate gate;
  REQUIRE_OK(gate.Hold(stream));
  for (uint32_t i = 1; i <= 20; ++i) REQUIRE_OK(log.Append(stream, i));
  CHECK(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
  CHECK(cuStreamQuery(nullptr) ==
        CUDA_ERROR_NOT_READY);  // the legacy stream is in order with blocking streams
  gate.Open();
  REQUIRE_OK(cuStreamSynchronize(stream));
  CHECK_OK(cuStreamQuery(stream));
  CHECK_OK(cuStreamQuery(nullptr));
  const Values values = log.Take();
  REQUIRE(values.size() == 20);
  CHECK(std::ranges::is_sorted(values));
}

TEST_CASE("driver streams: the null stream orders blocking streams, and not others") {
  Program program;
  Log log(program);
  CUstream blocking, other;
  REQUIRE_OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  REQUIRE_OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  Gate gate, other_gate;
  REQUIRE_OK(other_gate.Hold(other));
  REQUIRE_OK(log.Append(other, 100));
  REQUIRE_OK(gate.Hold(blocking));
  REQUIRE_OK(log.Append(blocking, 1));
  REQUIRE_OK(log.Append(nullptr, 2));
  REQUIRE_OK(log.Append(blocking, 3));
  gate.Open();
  REQUIRE_OK(cuStreamSynchronize(blocking));
  CHECK(log.Take() == Values{1, 2, 3});
  CHECK(cuStreamQuery(other) == CUDA_ERROR_NOT_READY);
  other_gate.Open();
  REQUIRE_OK(cuStreamSynchronize(other));
  CHECK(log.Take() == Values{100});
}

TEST_CASE("driver streams: synchronising the null stream waits for blocking streams") {
  Program program;
  Log log(program);
  CUstream blocking;
  REQUIRE_OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  for (uint32_t i = 0; i < 100; ++i) REQUIRE_OK(log.Append(blocking, i));
  REQUIRE_OK(cuStreamSynchronize(nullptr));
  CHECK(log.Take().size() == 100);
}

TEST_CASE("driver streams: each thread has its own per-thread stream") {
  Program program;
  unsigned long long ids[2] = {};
  CHECK_OK(cuStreamGetId(CU_STREAM_PER_THREAD, &ids[0]));
  std::thread([&] {
    CHECK_OK(cuCtxSetCurrent(program.context));
    CHECK_OK(cuStreamGetId(CU_STREAM_PER_THREAD, &ids[1]));
  }).join();
  CHECK(ids[0] != ids[1]);
  CHECK(ids[1] != 0);
}

TEST_CASE("driver streams: host functions and callbacks, and what a callback hears of a fault") {
  Program program;
  Log log(program);
  CUstream stream;
  REQUIRE_OK(cuStreamCreate(&stream, 0));
  struct Heard {
    CUstream stream = nullptr;
    CUresult status = CUDA_ERROR_UNKNOWN;
    int calls = 0;
  } heard, after;
  const CUstreamCallback callback = [](CUstream s, CUresult status, void* data) {
    auto* h = static_cast<Heard*>(data);
    *h = {s, status, h->calls + 1};
  };
  int host = 0;
  REQUIRE_OK(cuLaunchHostFunc(stream, [](void* data) { ++*static_cast<int*>(data); }, &host));
  REQUIRE_OK(cuStreamAddCallback(stream, callback, &heard, 0));
  REQUIRE_OK(cuStreamSynchronize(stream));
  CHECK(host == 1);
  CHECK(heard.calls == 1);
  CHECK(heard.stream == stream);
  CHECK(heard.status == CUDA_SUCCESS);
  REQUIRE_OK(cuLaunchKernel(program.fault, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
  const CUresult queued = cuStreamAddCallback(stream, callback, &after, 0);
  const CUresult status = cuStreamSynchronize(stream);
  CHECK(status != CUDA_SUCCESS);
  if (queued == CUDA_SUCCESS) {  // it was queued before the fault was seen
    CHECK(after.calls == 1);
    CHECK(after.status == status);
  }
  CHECK(cuStreamQuery(stream) == status);
  CHECK(log.Append(stream, 1) == status);
}

TEST_CASE("driver streams: waiting for and writing words of memory") {
  Program program;
  CUstream waits, writes;
  REQUIRE_OK(cuStreamCreate(&waits, CU_STREAM_NON_BLOCKING));
  REQUIRE_OK(cuStreamCreate(&writes, CU_STREAM_NON_BLOCKING));
  alignas(8) uint32_t words[2] = {0, 0};
  alignas(8) uint64_t wide = 0;
  const auto at = [](void* p) { return reinterpret_cast<CUdeviceptr>(p); };
  REQUIRE_OK(cuStreamWaitValue32_v2(waits, at(&words[0]), 5, CU_STREAM_WAIT_VALUE_GEQ));
  REQUIRE_OK(cuStreamWriteValue32_v2(waits, at(&words[1]), 1, 0));
  REQUIRE_OK(cuStreamWaitValue64_v2(waits, at(&wide), uint64_t{1} << 40, CU_STREAM_WAIT_VALUE_AND));
  CHECK(cuStreamQuery(waits) == CUDA_ERROR_NOT_READY);
  REQUIRE_OK(cuStreamWriteValue32_v2(writes, at(&words[0]), 6, 0));
  REQUIRE_OK(cuStreamSynchronize(writes));
  while (std::atomic_ref(words[1]).load() == 0) std::this_thread::yield();
  CHECK(cuStreamQuery(waits) == CUDA_ERROR_NOT_READY);
  CUstreamBatchMemOpParams batch[2] = {};
  batch[0].operation = CU_STREAM_MEM_OP_BARRIER;
  batch[1].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
  batch[1].writeValue.address = at(&wide);
  batch[1].writeValue.value64 = uint64_t{3} << 40;
  REQUIRE_OK(cuStreamBatchMemOp_v2(writes, 2, batch, 0));
  CHECK_OK(cuStreamSynchronize(waits));
  CHECK(cuStreamWaitValue32_v2(waits, at(&words[0]) + 1, 5, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamWaitValue32_v2(waits, at(&words[0]), 5, 77) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("driver events: record, query, wait, time") {
  Program program;
  Log log(program);
  CUstream stream, other;
  REQUIRE_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  REQUIRE_OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CUevent start, end, untimed;
  REQUIRE_OK(cuEventCreate(&start, CU_EVENT_DEFAULT));
  REQUIRE_OK(cuEventCreate(&end, CU_EVENT_BLOCKING_SYNC));
  REQUIRE_OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
  CHECK(cuEventCreate(&untimed, CU_EVENT_INTERPROCESS) == CUDA_ERROR_INVALID_VALUE);
  float milliseconds = -1;
  CHECK_OK(cuEventQuery(start));  // never recorded
  CHECK(cuEventElapsedTime(&milliseconds, start, end) == CUDA_ERROR_INVALID_HANDLE);
  Gate gate;
  REQUIRE_OK(cuEventRecord(start, stream));
  REQUIRE_OK(gate.Hold(stream));
  REQUIRE_OK(log.Append(stream, 1));
  REQUIRE_OK(cuEventRecord(end, stream));
  REQUIRE_OK(cuStreamWaitEvent(other, end, 0));
  REQUIRE_OK(log.Append(other, 2));
  CHECK(cuEventQuery(end) == CUDA_ERROR_NOT_READY);
  CHECK(cuEventElapsedTime(&milliseconds, start, end) == CUDA_ERROR_NOT_READY);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  gate.Open();
  REQUIRE_OK(cuEventSynchronize(end));
  REQUIRE_OK(cuStreamSynchronize(other));
  CHECK(log.Take() == Values{1, 2});
  CHECK_OK(cuEventElapsedTime(&milliseconds, start, end));
  CHECK(milliseconds >= 4.9f);
  REQUIRE_OK(cuEventRecord(untimed, stream));
  CHECK_OK(cuEventSynchronize(untimed));
  CHECK(cuEventElapsedTime(&milliseconds, start, untimed) == CUDA_ERROR_INVALID_HANDLE);
  CHECK_OK(cuEventDestroy_v2(start));
  CHECK(cuEventQuery(start) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuEventRecordWithFlags(end, stream, CU_EVENT_RECORD_EXTERNAL) == CUDA_ERROR_ILLEGAL_STATE);
}

// Questions to a CUDA driver about streams, events, capture and graphs: as memory_questions.h, whose Answers
// they fill; answers of a real driver in stream_answers.txt (record/record_stream_answers.cpp).
#pragma once

#include <functional>
#include <thread>

#include "memory_questions.h"

namespace stream_questions {

using memory_questions::Address;
using memory_questions::Answers;

inline constexpr const char* kPtx = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry first(.param .u64 p) { ret; }
.visible .entry second(.param .u64 p) { ret; }
)";

// What most questions start from.
struct Scene {
  CUmodule module = nullptr;
  CUfunction first = nullptr, second = nullptr;
  CUstream a = nullptr, b = nullptr, blocking = nullptr;
  CUevent event = nullptr, other_event = nullptr, untimed = nullptr;
  CUdeviceptr memory = 0;
  CUcontext context = nullptr;

  Scene() {
    cuCtxGetCurrent(&context);
    cuModuleLoadData(&module, kPtx);
    cuModuleGetFunction(&first, module, "first");
    cuModuleGetFunction(&second, module, "second");
    cuStreamCreate(&a, CU_STREAM_NON_BLOCKING);
    cuStreamCreate(&b, CU_STREAM_NON_BLOCKING);
    cuStreamCreate(&blocking, CU_STREAM_DEFAULT);
    cuEventCreate(&event, CU_EVENT_DEFAULT);
    cuEventCreate(&other_event, CU_EVENT_DEFAULT);
    cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING);
    cuMemAlloc(&memory, 4096);
  }
  CUresult Launch(CUstream stream) {
    void* parameters[] = {&memory};
    return cuLaunchKernel(first, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
  }
  CUDA_KERNEL_NODE_PARAMS Kernel(CUfunction function) {
    static void* parameters[1];
    parameters[0] = &memory;
    CUDA_KERNEL_NODE_PARAMS kernel{};
    kernel.func = function;
    kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = kernel.blockDimX = kernel.blockDimY =
        kernel.blockDimZ = 1;
    kernel.kernelParams = parameters;
    return kernel;
  }
  CUDA_MEMSET_NODE_PARAMS Fill() const {
    CUDA_MEMSET_NODE_PARAMS fill{};
    fill.dst = memory;
    fill.elementSize = 4;
    fill.width = 8;
    fill.height = 1;
    return fill;
  }
};

inline int Status(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = cuStreamIsCapturing(stream, &status);
  return result == CUDA_SUCCESS ? static_cast<int>(status) : -static_cast<int>(result);
}

inline void AskStreams(Answers& answers) {
  Scene scene;
  CUstream made = nullptr;
  answers.Add("stream null", cuStreamCreate(nullptr, 0));
  answers.Add("stream flags 8", cuStreamCreate(&made, 8));
  for (const int wanted : {-100, -5, -3, 0, 7}) {
    int priority = 99;
    const CUresult code = cuStreamCreateWithPriority(&made, 0, wanted);
    cuStreamGetPriority(made, &priority);
    answers.Add("stream priority " + std::to_string(wanted), code, priority);
  }
  unsigned flags = 99;
  answers.Add("flags of null stream", cuStreamGetFlags(nullptr, &flags), std::cref(flags));
  answers.Add("flags of per-thread stream", cuStreamGetFlags(CU_STREAM_PER_THREAD, &flags), std::cref(flags));
  answers.Add("flags of legacy stream", cuStreamGetFlags(CU_STREAM_LEGACY, &flags), std::cref(flags));
  answers.Add("flags into null", cuStreamGetFlags(scene.a, nullptr));
  answers.Add("destroy null stream", cuStreamDestroy(nullptr));
  answers.Add("callback null", cuStreamAddCallback(scene.a, nullptr, nullptr, 0));
  answers.Add("callback flags 1", cuStreamAddCallback(scene.a, [](CUstream, CUresult, void*) {}, nullptr, 1));
  answers.Add("host function null", cuLaunchHostFunc(scene.a, nullptr, nullptr));
  CUstreamAttrValue value{};
  for (const int id : {1, 2, 3, 8, 9, 10}) {
    value = {};
    const CUresult code = cuStreamGetAttribute(scene.a, static_cast<CUstreamAttrID>(id), &value);
    answers.Add("attribute " + std::to_string(id), code, value.pad[0]);
    answers.Add("set attribute " + std::to_string(id),
                cuStreamSetAttribute(scene.a, static_cast<CUstreamAttrID>(id), &value));
  }
  answers.Add("set sync policy 9", [&] {
    value = {};
    value.syncPolicy = static_cast<CUsynchronizationPolicy>(9);
    return cuStreamSetAttribute(scene.a, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value);
  }());
  answers.Add("write value misaligned", cuStreamWriteValue32(scene.a, scene.memory + 2, 1, 0));
  answers.Add("write value 0", cuStreamWriteValue32(scene.a, 0, 1, 0));
  answers.Add("write value flags 2", cuStreamWriteValue32(scene.a, scene.memory, 1, 2));
  answers.Add("write value", cuStreamWriteValue32(scene.a, scene.memory, 1, 0));
  answers.Add("write value 64 misaligned", cuStreamWriteValue64(scene.a, scene.memory + 4, 1, 0));
  answers.Add("wait value flags 4", cuStreamWaitValue32(scene.a, scene.memory, 1, 4));
  answers.Add("wait value", cuStreamWaitValue32(scene.a, scene.memory, 1, CU_STREAM_WAIT_VALUE_EQ));
  CUstreamBatchMemOpParams operation{};
  operation.operation = static_cast<CUstreamBatchMemOpType>(77);
  answers.Add("batch of none", cuStreamBatchMemOp(scene.a, 0, &operation, 0));
  answers.Add("batch operation 77", cuStreamBatchMemOp(scene.a, 1, &operation, 0));
  answers.Add("batch flags 1", cuStreamBatchMemOp(scene.a, 0, &operation, 1));
  CUdeviceptr managed = 0;
  cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL);
  answers.Add("attach", cuStreamAttachMemAsync(scene.a, managed, 0, CU_MEM_ATTACH_SINGLE));
  answers.Add("attach to null stream", cuStreamAttachMemAsync(nullptr, managed, 0, CU_MEM_ATTACH_SINGLE));
  answers.Add("attach flags 3", cuStreamAttachMemAsync(scene.a, managed, 0, 3));
  answers.Add("attach device memory", cuStreamAttachMemAsync(scene.a, scene.memory, 0, CU_MEM_ATTACH_SINGLE));
  answers.Add("attach half", cuStreamAttachMemAsync(scene.a, managed, 2048, CU_MEM_ATTACH_SINGLE));
  answers.Add("attach 0", cuStreamAttachMemAsync(scene.a, 0, 0, CU_MEM_ATTACH_SINGLE));
  answers.Add("streams done", cuCtxSynchronize());
}

inline void AskEvents(Answers& answers) {
  Scene scene;
  CUevent made = nullptr;
  for (const unsigned flags : {0u, 1u, 2u, 3u, 4u, 6u, 7u, 8u})
    answers.Add("event flags " + std::to_string(flags), cuEventCreate(&made, flags));
  answers.Add("event null", cuEventCreate(nullptr, 0));
  float time = 0;
  answers.Add("query, never recorded", cuEventQuery(scene.event));
  answers.Add("synchronise, never recorded", cuEventSynchronize(scene.event));
  answers.Add("wait, never recorded", cuStreamWaitEvent(scene.a, scene.event, 0));
  answers.Add("time, never recorded", cuEventElapsedTime(&time, scene.event, scene.other_event));
  answers.Add("record", cuEventRecord(scene.event, scene.a));
  answers.Add("time, one recorded", cuEventElapsedTime(&time, scene.event, scene.other_event));
  answers.Add("time, other recorded", cuEventElapsedTime(&time, scene.other_event, scene.event));
  cuEventRecord(scene.untimed, scene.a);
  cuStreamSynchronize(scene.a);
  answers.Add("time, untimed", cuEventElapsedTime(&time, scene.event, scene.untimed));
  answers.Add("time into null", cuEventElapsedTime(nullptr, scene.event, scene.event));
  answers.Add("time of itself", cuEventElapsedTime(&time, scene.event, scene.event), std::cref(time));
  answers.Add("record external", cuEventRecordWithFlags(scene.event, scene.a, CU_EVENT_RECORD_EXTERNAL));
  answers.Add("record flags 2", cuEventRecordWithFlags(scene.event, scene.a, 2));
  answers.Add("wait external", cuStreamWaitEvent(scene.a, scene.event, CU_EVENT_WAIT_EXTERNAL));
  answers.Add("wait flags 2", cuStreamWaitEvent(scene.a, scene.event, 2));
  answers.Add("query null", cuEventQuery(nullptr));
  answers.Add("record null", cuEventRecord(nullptr, scene.a));
  answers.Add("destroy null event", cuEventDestroy(nullptr));
}

// Something that is done while `a` is captured in some mode; then how the capture is and how it ends.
inline void AskDuring(Answers& answers, Scene& scene, const std::string& label, CUstreamCaptureMode mode,
                      const std::function<CUresult()>& call) {
  cuStreamBeginCapture(scene.a, mode);
  scene.Launch(scene.a);
  const CUresult result = call();
  const int status = Status(scene.a);
  CUgraph graph = nullptr;
  const CUresult end = cuStreamEndCapture(scene.a, &graph);
  answers.Add(label, CUDA_SUCCESS, static_cast<int>(result), status, static_cast<int>(end));
  if (graph != nullptr) cuGraphDestroy(graph);
}

inline void AskCapture(Answers& answers) {
  Scene scene;
  CUgraph graph = nullptr;
  answers.Add("capture legacy", cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED));
  answers.Add("capture mode 3", cuStreamBeginCapture(scene.a, static_cast<CUstreamCaptureMode>(3)));
  answers.Add("end without begin", cuStreamEndCapture(scene.a, &graph));
  answers.Add("capture", cuStreamBeginCapture(scene.a, CU_STREAM_CAPTURE_MODE_RELAXED));
  answers.Add("capture twice", cuStreamBeginCapture(scene.a, CU_STREAM_CAPTURE_MODE_RELAXED));
  answers.Add("status", CUDA_SUCCESS, Status(scene.a));
  answers.Add("status of legacy beside a non-blocking capture", CUDA_SUCCESS, Status(nullptr));
  const CUresult ended = cuStreamEndCapture(scene.a, &graph);
  answers.Add("end", ended, graph != nullptr);
  answers.Add("capture per-thread",
              cuStreamBeginCapture(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_RELAXED));
  answers.Add("end per-thread", cuStreamEndCapture(CU_STREAM_PER_THREAD, &graph));
  cuEventRecord(scene.other_event, scene.b);
  cuStreamSynchronize(scene.b);
  float time = 0;
  void* parameters[] = {&scene.memory};
  std::vector<char> pageable(64);
  void* pinned = nullptr;
  cuMemAllocHost(&pinned, 64);
  const CUstreamCaptureMode relaxed = CU_STREAM_CAPTURE_MODE_RELAXED, global = CU_STREAM_CAPTURE_MODE_GLOBAL;
  AskDuring(answers, scene, "nothing", relaxed, [] { return CUDA_SUCCESS; });
  AskDuring(answers, scene, "synchronise", relaxed, [&] { return cuStreamSynchronize(scene.a); });
  AskDuring(answers, scene, "query", relaxed, [&] { return cuStreamQuery(scene.a); });
  AskDuring(answers, scene, "callback", relaxed,
            [&] { return cuStreamAddCallback(scene.a, [](CUstream, CUresult, void*) {}, nullptr, 0); });
  AskDuring(answers, scene, "query captured event", relaxed,
            [&] { return cuEventRecord(scene.event, scene.a), cuEventQuery(scene.event); });
  AskDuring(answers, scene, "synchronise captured event", relaxed,
            [&] { return cuEventRecord(scene.event, scene.a), cuEventSynchronize(scene.event); });
  AskDuring(answers, scene, "time of captured event", relaxed, [&] {
    return cuEventRecord(scene.event, scene.a), cuEventElapsedTime(&time, scene.other_event, scene.event);
  });
  answers.Add("query event of a capture that ended", cuEventQuery(scene.event));
  answers.Add("synchronise event of a capture that ended", cuEventSynchronize(scene.event));
  answers.Add("wait for event of a capture that ended", cuStreamWaitEvent(scene.b, scene.event, 0));
  AskDuring(answers, scene, "wait in a capture for event of one that ended", relaxed,
            [&] { return cuStreamWaitEvent(scene.a, scene.event, 0); });
  AskDuring(answers, scene, "wait for event from outside", relaxed,
            [&] { return cuStreamWaitEvent(scene.a, scene.other_event, 0); });
  CUevent never = nullptr;
  cuEventCreate(&never, 0);
  AskDuring(answers, scene, "wait for event never recorded", relaxed,
            [&] { return cuStreamWaitEvent(scene.a, never, 0); });
  AskDuring(answers, scene, "wait external in a capture", relaxed,
            [&] { return cuStreamWaitEvent(scene.a, scene.other_event, CU_EVENT_WAIT_EXTERNAL); });
  AskDuring(answers, scene, "record external in a capture", relaxed,
            [&] { return cuEventRecordWithFlags(scene.event, scene.a, CU_EVENT_RECORD_EXTERNAL); });
  AskDuring(answers, scene, "legacy waits for captured event", relaxed,
            [&] { return cuEventRecord(scene.event, scene.a), cuStreamWaitEvent(nullptr, scene.event, 0); });
  AskDuring(answers, scene, "end on a stream that joined", relaxed, [&] {
    cuEventRecord(scene.event, scene.a);
    cuStreamWaitEvent(scene.b, scene.event, 0);
    const CUresult result = cuStreamEndCapture(scene.b, &graph);
    return result;
  });
  answers.Add("joined stream afterwards", CUDA_SUCCESS, Status(scene.b));
  AskDuring(answers, scene, "not joined", relaxed, [&] {
    cuEventRecord(scene.event, scene.a);
    cuStreamWaitEvent(scene.b, scene.event, 0);
    return scene.Launch(scene.b);
  });
  answers.Add("stream that was not joined afterwards", CUDA_SUCCESS, Status(scene.b));
  AskDuring(answers, scene, "merge", relaxed, [&] {
    cuStreamBeginCapture(scene.b, relaxed);
    cuEventRecord(scene.event, scene.b);
    const CUresult result = cuStreamWaitEvent(scene.a, scene.event, 0);
    const int other = Status(scene.b);
    answers.Add("the other after a merge", CUDA_SUCCESS, other,
                static_cast<int>(cuStreamEndCapture(scene.b, &graph)));
    return result;
  });
  AskDuring(answers, scene, "end on another thread", global, [&] {
    CUresult result = CUDA_SUCCESS;
    std::thread([&] {
      cuCtxSetCurrent(scene.context);
      result = cuStreamEndCapture(scene.a, &graph);
    }).join();
    return result;
  });
  AskDuring(answers, scene, "upload", relaxed, [&] {
    CUgraphExec exec = nullptr;
    CUgraph empty = nullptr;
    cuGraphCreate(&empty, 0);
    cuGraphInstantiate(&exec, empty, 0);
    return cuGraphUpload(exec, scene.a);
  });
  for (const auto& [name, mode] : {std::pair<std::string, CUstreamCaptureMode>{"global", global},
                                   {"thread local", CU_STREAM_CAPTURE_MODE_THREAD_LOCAL},
                                   {"relaxed", relaxed}}) {
    CUdeviceptr got = 0;
    CUstream stream = nullptr;
    CUevent event = nullptr;
    CUmodule module = nullptr;
    CUgraph made = nullptr;
    size_t free_bytes = 0, total = 0;
    const std::vector<std::pair<std::string, std::function<CUresult()>>> calls = {
        {"allocate", [&] { return cuMemAlloc(&got, 64); }},
        {"free", [&] { return cuMemAlloc(&got, 64) == CUDA_SUCCESS ? cuMemFree(got) : cuMemFree(0); }},
        {"allocate host",
         [&] {
           void* p;
           return cuMemAllocHost(&p, 64);
         }},
        {"allocate managed", [&] { return cuMemAllocManaged(&got, 64, 1); }},
        {"memory info", [&] { return cuMemGetInfo(&free_bytes, &total); }},
        {"copy", [&] { return cuMemcpyHtoD(scene.memory, pinned, 64); }},
        {"copy on the stream, pageable",
         [&] { return cuMemcpyHtoDAsync(scene.memory, pageable.data(), 64, scene.a); }},
        {"copy on the stream, pinned", [&] { return cuMemcpyHtoDAsync(scene.memory, pinned, 64, scene.a); }},
        {"copy between devices' memory", [&] { return cuMemcpyDtoD(scene.memory, scene.memory + 1024, 64); }},
        {"set", [&] { return cuMemsetD8(scene.memory, 0, 64); }},
        {"context synchronise", [] { return cuCtxSynchronize(); }},
        {"query another stream", [&] { return cuStreamQuery(scene.b); }},
        {"synchronise another stream", [&] { return cuStreamSynchronize(scene.b); }},
        {"launch on another stream", [&] { return scene.Launch(scene.b); }},
        {"launch on the legacy stream",
         [&] { return cuLaunchKernel(scene.first, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr); }},
        {"query another event", [&] { return cuEventQuery(scene.other_event); }},
        {"synchronise another event", [&] { return cuEventSynchronize(scene.other_event); }},
        {"time of other events",
         [&] { return cuEventElapsedTime(&time, scene.other_event, scene.other_event); }},
        {"create a stream", [&] { return cuStreamCreate(&stream, 0); }},
        {"destroy a stream", [&] { return cuStreamDestroy(stream); }},
        {"create an event", [&] { return cuEventCreate(&event, 0); }},
        {"destroy an event", [&] { return cuEventDestroy(event); }},
        {"load a module", [&] { return cuModuleLoadData(&module, kPtx); }},
        {"create a graph", [&] { return cuGraphCreate(&made, 0); }},
        {"callback on another stream",
         [&] { return cuStreamAddCallback(scene.b, [](CUstream, CUresult, void*) {}, nullptr, 0); }},
    };
    for (const auto& [what, call] : calls) AskDuring(answers, scene, name + ": " + what, mode, call);
  }
  // A blocking stream.
  const auto blocking = [&](const std::string& label, const std::function<CUresult()>& call) {
    std::swap(scene.a, scene.blocking);
    AskDuring(answers, scene, "blocking: " + label, relaxed, call);
    std::swap(scene.a, scene.blocking);
  };
  blocking("launch on the legacy stream", [&] { return scene.Launch(nullptr); });
  blocking("synchronise the legacy stream", [&] { return cuStreamSynchronize(nullptr); });
  blocking("query the legacy stream", [&] { return cuStreamQuery(nullptr); });
  blocking("record on the legacy stream", [&] { return cuEventRecord(scene.other_event, nullptr); });
  blocking("launch on another blocking stream", [&] {
    CUstream other = nullptr;
    cuStreamCreate(&other, 0);
    return scene.Launch(other);
  });
  blocking("copy", [&] { return cuMemcpyHtoD(scene.memory, pinned, 64); });
  blocking("status of the legacy stream", [&] { return static_cast<CUresult>(-Status(nullptr)); });
  CUgraphNode node = nullptr;
  answers.Add("update dependencies outside",
              cuStreamUpdateCaptureDependencies(scene.a, &node, nullptr, 0, 0));
  AskDuring(answers, scene, "update dependencies flags 2", relaxed,
            [&] { return cuStreamUpdateCaptureDependencies(scene.a, &node, nullptr, 0, 2); });
  AskDuring(answers, scene, "update dependencies to none", relaxed,
            [&] { return cuStreamUpdateCaptureDependencies(scene.a, &node, nullptr, 0, 1); });
}

}  // namespace stream_questions

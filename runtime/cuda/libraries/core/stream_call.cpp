#include "runtime/cuda/libraries/core/stream_call.h"

#include <cinttypes>
#include <cstdio>

#include "driver_api.h"
#include "runtime/cuda/cudart/context.h"
#include "runtime/cuda/driver/stream/submit.h"
#include "runtime/cuda/libraries/core/parallel.h"
#include "runtime/timeline/timeline.h"
#include "runtime/worker/failure.h"
#include "runtime/worker/fault.h"

namespace ptx2cpu::libraries {

using namespace cuda;

rt::LaunchError FaultOf(const char* name, const rt::FaultRecord& record) {
  char text[160];
  std::snprintf(text, sizeof text, "%s: bad address 0x%" PRIxPTR, name, record.address);
  rt::LaunchError error{rt::LaunchError::Kind::kFault, text, record.kind};
  error.pc = record.pc, error.address = record.address;
  return error;
}

namespace {

void Run(const char* name, const std::function<void()>& run, rt::ErrorState& errors) {
  rt::LandingPoint landing;
  rt::LandingScope scope(landing);
  rt::LaunchError error;
  if (sigsetjmp(landing.jump, 0) != 0) {
    rt::UnblockFaultSignals();
    error = FaultOf(name, landing.record);
  } else {
    try {
      run();
      return;
    } catch (const PieceFault& fault) {
      error = FaultOf(name, fault.record);
    } catch (...) {
      error = {rt::LaunchError::Kind::kResources, std::string(name) + ": " + rt::CurrentFailure().text};
    }
  }
  std::fprintf(stderr, "ptx2cpu: %s\n", error.message.c_str());
  errors.Fail(std::move(error));
}

}  // namespace

CUresult Begin() {
  // The runtime's errors have the driver's numbers where a context cannot begin.
  return static_cast<CUresult>(cudart::Begin());
}

CUresult Submit(CUstream handle, const char* name, std::function<void()> run) {
  driver::StreamObject* stream;
  if (const CUresult error = driver::StreamOf(handle, stream)) return error;
  rt::Stream& queue = stream->queue();
  rt::CallWork work{[name, run = std::move(run), errors = &queue.errors(), id = queue.id()] {
    if (!rt::timeline::Wanted()) [[likely]]
      return Run(name, run, *errors);
    const uint64_t begin = rt::timeline::Now();
    Run(name, run, *errors);
    rt::timeline::AddWork(id, name, begin, rt::timeline::Now());
  }};
  return driver::Submit(*stream, std::move(work),
                        [](CUgraphNodeParams& node) { node.type = CU_GRAPH_NODE_TYPE_HOST; });
}

CUresult SubmitAwaited(CUstream handle, std::function<void(rt::ErrorState&, uint64_t)> begin,
                       std::function<bool()> done) {
  driver::StreamObject* stream;
  if (const CUresult error = driver::StreamOf(handle, stream)) return error;
  rt::Stream& queue = stream->queue();
  auto steps = std::make_shared<rt::Steps>();
  steps->emplace_back(rt::CallWork{
      [begin = std::move(begin), errors = &queue.errors(), id = queue.id()] { begin(*errors, id); }, true});
  steps->emplace_back(rt::PollWork{std::move(done)});
  return driver::Submit(*stream, rt::SequenceWork{std::move(steps)},
                        [](CUgraphNodeParams& node) { node.type = CU_GRAPH_NODE_TYPE_HOST; });
}

CUresult Synchronize(CUstream stream) { return driver::cuStreamSynchronize(stream); }
bool IsCaptured(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver::cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
         status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult CaptureInto(CUgraph graph, const std::function<void(CUstream)>& submit) {
  CUstream stream;
  if (const CUresult error = driver::cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)) return error;
  CUresult error =
      driver::cuStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_RELAXED);
  if (error == CUDA_SUCCESS) {
    submit(stream);
    CUgraph captured;
    error = driver::cuStreamEndCapture(stream, &captured);
  }
  driver::cuStreamDestroy_v2(stream);
  return error;
}

}  // namespace ptx2cpu::libraries

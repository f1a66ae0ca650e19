// cuStreamBeginCapture and its kin.
#include "runtime/cuda/driver/graph/graph_capture.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

// The stream and its capture; null: it is in none.
CUresult CaptureOf(CUstream handle, StreamObject*& stream, std::shared_ptr<GraphCapture>& capture) {
  if (const CUresult error = StreamOf(handle, stream)) return error;
  if (stream->role() == StreamObject::Role::kLegacy && stream->context().blocking_captures.load() > 0)
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  capture = CaptureOf(*stream);
  return CUDA_SUCCESS;
}

CUstreamCaptureStatus StatusOf(const std::shared_ptr<GraphCapture>& capture) {
  if (capture == nullptr || capture->ended()) return CU_STREAM_CAPTURE_STATUS_NONE;
  return capture->active() ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

CUresult Update(CUstream handle, const CUgraphNode* nodes, const CUgraphEdgeData* data, size_t count,
                unsigned flags) {
  StreamObject* stream;
  std::shared_ptr<GraphCapture> capture;
  if (const CUresult error = CaptureOf(handle, stream, capture)) return error;
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (flags != CU_STREAM_ADD_CAPTURE_DEPENDENCIES && flags != CU_STREAM_SET_CAPTURE_DEPENDENCIES)
    return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphEdge> edges;
  if (const CUresult error = EdgesOf(capture->graph(), nodes, data, count, edges)) return error;
  return capture->UpdateDependencies(*stream, edges, flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES);
}

struct CaptureAnswer {
  CUstreamCaptureStatus* status;
  cuuint64_t* id;
  CUgraph* graph;
  const CUgraphNode** nodes;
  const CUgraphEdgeData** data;
  size_t* count;
};

CUresult ReportCapture(CUstream handle, const CaptureAnswer& answer) {
  if (answer.status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  StreamObject* stream;
  std::shared_ptr<GraphCapture> capture;
  if (const CUresult error = CaptureOf(handle, stream, capture)) return error;
  *answer.status = StatusOf(capture);
  if (*answer.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
  if (answer.id != nullptr) *answer.id = capture->id();
  if (answer.graph != nullptr) *answer.graph = HandleOf(&capture->graph());
  if (answer.nodes == nullptr && answer.data == nullptr && answer.count == nullptr) return CUDA_SUCCESS;
  const std::vector<CUgraphEdgeData>* data;
  const std::vector<CUgraphNode>& nodes = capture->Dependencies(*stream, data);
  for (const CUgraphEdgeData& edge : *data) {
    if (!IsPlain(edge) && answer.data == nullptr && answer.nodes != nullptr) return CUDA_ERROR_LOSSY_QUERY;
  }
  if (answer.nodes != nullptr) *answer.nodes = nodes.data();
  if (answer.data != nullptr) *answer.data = data->data();
  if (answer.count != nullptr) *answer.count = nodes.size();
  return CUDA_SUCCESS;
}

CUresult BeginIn(CUstream handle, Graph* graph, std::vector<GraphEdge> first, CUstreamCaptureMode mode) {
  StreamObject* stream;
  if (const CUresult error = StreamOf(handle, stream)) return error;
  return GraphCapture::Begin(*stream, graph, std::move(first), mode);
}

}  // namespace

CUresult cuStreamBeginCapture(CUstream hStream) {
  return BeginIn(hStream, nullptr, {}, CU_STREAM_CAPTURE_MODE_GLOBAL);
}
CUresult cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode) {
  return BeginIn(hStream, nullptr, {}, mode);
}

CUresult cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph, const CUgraphNode* dependencies,
                                     const CUgraphEdgeData* dependencyData, size_t numDependencies,
                                     CUstreamCaptureMode mode) {
  Graph* const graph = From<Graph>(hGraph);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphEdge> first;
  if (const CUresult error = EdgesOf(*graph, dependencies, dependencyData, numDependencies, first))
    return error;
  return BeginIn(hStream, graph, std::move(first), mode);
}

CUresult cuStreamEndCapture(CUstream hStream, CUgraph* phGraph) {
  StreamObject* stream;
  std::shared_ptr<GraphCapture> capture;
  if (const CUresult error = CaptureOf(hStream, stream, capture)) return error;
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  return capture->End(*stream, phGraph);
}

CUresult cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus* captureStatus) {
  return ReportCapture(hStream, {captureStatus, nullptr, nullptr, nullptr, nullptr, nullptr});
}

CUresult cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                cuuint64_t* id_out) {
  return ReportCapture(hStream, {captureStatus_out, id_out, nullptr, nullptr, nullptr, nullptr});
}

CUresult cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                   cuuint64_t* id_out, CUgraph* graph_out,
                                   const CUgraphNode** dependencies_out, size_t* numDependencies_out) {
  return ReportCapture(
      hStream, {captureStatus_out, id_out, graph_out, dependencies_out, nullptr, numDependencies_out});
}

CUresult cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                   cuuint64_t* id_out, CUgraph* graph_out,
                                   const CUgraphNode** dependencies_out, const CUgraphEdgeData** edgeData_out,
                                   size_t* numDependencies_out) {
  return ReportCapture(
      hStream, {captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out, numDependencies_out});
}

CUresult cuStreamUpdateCaptureDependencies(CUstream hStream, CUgraphNode* dependencies,
                                           size_t numDependencies, unsigned int flags) {
  return Update(hStream, dependencies, nullptr, numDependencies, flags);
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream hStream, CUgraphNode* dependencies,
                                              const CUgraphEdgeData* dependencyData, size_t numDependencies,
                                              unsigned int flags) {
  return Update(hStream, dependencies, dependencyData, numDependencies, flags);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (mode == nullptr || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_ERROR_INVALID_VALUE;
  *mode = ExchangeCaptureMode(*mode);
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver

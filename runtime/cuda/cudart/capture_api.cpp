// Stream capture.
#include "cudart_api.h"
#include "runtime/cuda/cudart/context.h"

namespace ptx2cpu::cudart {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return InContext(&driver::cuStreamBeginCapture_v2, stream, static_cast<CUstreamCaptureMode>(mode));
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                          const cudaGraphNode_t* dependencies,
                                          const cudaGraphEdgeData* dependencyData, size_t numDependencies,
                                          cudaStreamCaptureMode mode) {
  return InContext(&driver::cuStreamBeginCaptureToGraph, stream, graph, dependencies,
                   Twin<const CUgraphEdgeData>(dependencyData), numDependencies,
                   static_cast<CUstreamCaptureMode>(mode));
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return InDriver(&driver::cuThreadExchangeStreamCaptureMode, Twin<CUstreamCaptureMode>(mode));
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* pGraph) {
  return InContext(&driver::cuStreamEndCapture, stream, pGraph);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* pCaptureStatus) {
  return InContext(&driver::cuStreamIsCapturing, stream, Twin<CUstreamCaptureStatus>(pCaptureStatus));
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* captureStatus_out,
                                     unsigned long long* id_out) {
  return InContext(&driver::cuStreamGetCaptureInfo, stream, Twin<CUstreamCaptureStatus>(captureStatus_out),
                   Twin<cuuint64_t>(id_out));
}

cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* captureStatus_out,
                                        unsigned long long* id_out, cudaGraph_t* graph_out,
                                        const cudaGraphNode_t** dependencies_out,
                                        size_t* numDependencies_out) {
  return InContext(&driver::cuStreamGetCaptureInfo_v2, stream, Twin<CUstreamCaptureStatus>(captureStatus_out),
                   Twin<cuuint64_t>(id_out), graph_out, dependencies_out, numDependencies_out);
}

cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t stream, cudaStreamCaptureStatus* captureStatus_out,
                                        unsigned long long* id_out, cudaGraph_t* graph_out,
                                        const cudaGraphNode_t** dependencies_out,
                                        const cudaGraphEdgeData** edgeData_out, size_t* numDependencies_out) {
  return InContext(&driver::cuStreamGetCaptureInfo_v3, stream, Twin<CUstreamCaptureStatus>(captureStatus_out),
                   Twin<cuuint64_t>(id_out), graph_out, dependencies_out,
                   reinterpret_cast<const CUgraphEdgeData**>(edgeData_out), numDependencies_out);
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* captureStatus_out,
                                     unsigned long long* id_out, cudaGraph_t* graph_out,
                                     const cudaGraphNode_t** dependencies_out,
                                     const cudaGraphEdgeData** edgeData_out, size_t* numDependencies_out) {
  return cudaStreamGetCaptureInfo_v3(stream, captureStatus_out, id_out, graph_out, dependencies_out,
                                     edgeData_out, numDependencies_out);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                size_t numDependencies, unsigned int flags) {
  return InContext(&driver::cuStreamUpdateCaptureDependencies, stream, dependencies, numDependencies, flags);
}

cudaError_t cudaStreamUpdateCaptureDependencies_v2(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                   const cudaGraphEdgeData* dependencyData,
                                                   size_t numDependencies, unsigned int flags) {
  return InContext(&driver::cuStreamUpdateCaptureDependencies_v2, stream, dependencies,
                   Twin<const CUgraphEdgeData>(dependencyData), numDependencies, flags);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                const cudaGraphEdgeData* dependencyData,
                                                size_t numDependencies, unsigned int flags) {
  return cudaStreamUpdateCaptureDependencies_v2(stream, dependencies, dependencyData, numDependencies, flags);
}

}  // namespace ptx2cpu::cudart

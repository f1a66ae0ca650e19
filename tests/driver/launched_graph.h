// Additions to stream_program.h for tests of graphs: new graphs, and one that can be launched.
#pragma once

#include "tests/driver/stream_program.h"

namespace driver_stream_test {

struct Launched {
  explicit Launched(CUgraph graph) {
    REQUIRE_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    REQUIRE_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  }
  ~Launched() {
    cuGraphExecDestroy(exec);
    cuStreamDestroy_v2(stream);
  }
  void Run() {
    REQUIRE_OK(cuGraphLaunch(exec, stream));
    REQUIRE_OK(cuStreamSynchronize(stream));
  }
  CUstream stream;
  CUgraphExec exec;
};

inline CUgraph NewGraph() {
  CUgraph graph;
  REQUIRE_OK(cuGraphCreate(&graph, 0));
  return graph;
}

}  // namespace driver_stream_test

#include "analysis/graph/minimum_cut.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>

namespace ptx2cpu::analysis {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using Flow = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<boost::edge_capacity_t, int64_t,
                    boost::property<boost::edge_residual_capacity_t, int64_t,
                                    boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

constexpr int64_t kUncut = int64_t{1} << 50;

void AddArc(Flow& flow, uint32_t from, uint32_t to, int64_t capacity) {
  auto forth = boost::add_edge(from, to, flow).first, back = boost::add_edge(to, from, flow).first;
  boost::put(boost::edge_capacity, flow, forth, capacity);
  boost::put(boost::edge_capacity, flow, back, 0);
  boost::put(boost::edge_reverse, flow, forth, back);
  boost::put(boost::edge_reverse, flow, back, forth);
}

// Vertices from which the sink can still be reached over arcs with capacity left.
std::vector<bool> ReachingSink(const Flow& flow, uint32_t sink) {
  std::vector<bool> reaches(boost::num_vertices(flow));
  std::vector<uint32_t> work{sink};
  reaches[sink] = true;
  while (!work.empty()) {
    uint32_t vertex = work.back();
    work.pop_back();
    // Each arc out of the vertex is paired with one into it.
    for (auto [it, end] = boost::out_edges(vertex, flow); it != end; ++it) {
      uint32_t from = static_cast<uint32_t>(boost::target(*it, flow));
      Traits::edge_descriptor into = boost::get(boost::edge_reverse, flow, *it);
      if (reaches[from] || boost::get(boost::edge_residual_capacity, flow, into) <= 0) continue;
      reaches[from] = true;
      work.push_back(from);
    }
  }
  return reaches;
}

}  // namespace

std::vector<bool> MinimumCut(const CutGraph& graph) {
  uint32_t count = static_cast<uint32_t>(graph.prices.size());
  std::vector<bool> cut(count);
  if (graph.sources.empty() || graph.sinks.empty()) return cut;
  // Node n is the arc from vertex 2n to 2n + 1.
  uint32_t source = 2 * count, sink = 2 * count + 1;
  Flow flow(2 * count + 2);
  for (uint32_t n = 0; n < count; ++n) AddArc(flow, 2 * n, 2 * n + 1, static_cast<int64_t>(graph.prices[n]));
  for (auto [from, to] : graph.edges) AddArc(flow, 2 * from + 1, 2 * to, kUncut);
  for (uint32_t n : graph.sources) AddArc(flow, source, 2 * n, kUncut);
  for (uint32_t n : graph.sinks) AddArc(flow, 2 * n + 1, sink, kUncut);
  boost::push_relabel_max_flow(flow, source, sink);
  std::vector<bool> reaches = ReachingSink(flow, sink);
  for (uint32_t n = 0; n < count; ++n) cut[n] = !reaches[2 * n] && reaches[2 * n + 1];
  return cut;
}

}  // namespace ptx2cpu::analysis

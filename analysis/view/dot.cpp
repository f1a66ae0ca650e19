#include "analysis/view/dot.h"

#include <fmt/format.h>

namespace ptx2cpu::analysis {
namespace {

using Role = CfgView::Role;

constexpr std::string_view kRegionFill[] = {"#ffffff", "#e8f5e9", "#e3f2fd"};  // by level: none, warp, block
constexpr std::string_view kRegionLine[] = {"#000000", "#66bb6a", "#42a5f5"};
constexpr std::string_view kBoundaryFill[] = {"#ffffff", "#ffe0b2", "#ffcdd2"};  // warp orange, block red
constexpr std::string_view kDivergent = "#c62828";
constexpr std::string_view kWarpUniform = "#ef6c00";

std::string Escape(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\l";
    } else {
      out += c;
    }
  }
  return out;
}

std::string_view RoleName(const CfgView::Node& node) {
  switch (node.role) {
    case Role::kBarrier:
      return "block barrier";
    case Role::kCollective:
      return "warp collective";
    case Role::kPeeledBranch:
      return "peeled branch";
    case Role::kJoin:
    case Role::kLoop:
      return "extra barrier";
    case Role::kPlain:
      break;
  }
  return node.level == ir::Level::kLane ? "" : ir::Name(node.level);
}

std::string Caption(const CfgView::Node& node) {
  std::string text = node.title;
  std::string_view role = RoleName(node);
  if (!role.empty()) {
    text += "  [";
    if (node.role == Role::kPeeledBranch || node.role == Role::kJoin)
      text += std::string(ir::Name(node.level)) + "-level ";
    text += std::string(role) + "]";
  }
  if (node.branches) text += "  {" + std::string(Name(node.decision)) + " branch}";
  return text;
}

class DotWriter {
 public:
  explicit DotWriter(const CfgView& view) : view_(view) {}

  std::string Write() {
    out_ = fmt::format("digraph \"{}\" {{\n", Escape(view_.title));
    out_ += "  node [shape=box, fontname=\"monospace\", fontsize=10, style=filled, fillcolor=white];\n";
    out_ += "  edge [fontname=\"monospace\", fontsize=9];\n";
    std::string label = view_.title;
    for (const std::string& note : view_.notes) label += "\n" + note;
    out_ +=
        fmt::format("  labelloc=t; labeljust=l; fontname=\"monospace\"; label=\"{}\\l\";\n", Escape(label));
    Scope(~0u, 1);
    for (const CfgView::Edge& edge : view_.edges) Edge(edge);
    for (uint32_t n = 0; n < view_.nodes.size(); ++n) {
      if (view_.nodes[n].dominator == ~0u) continue;
      out_ +=
          fmt::format("  n{} -> n{} [style=dashed, color=\"#7e57c2\", arrowhead=empty, constraint=false];\n",
                      view_.nodes[n].dominator, n);
    }
    return out_ + "}\n";
  }

 private:
  // Nodes and clusters directly inside a cluster.
  void Scope(uint32_t cluster, int depth) {
    std::string indent(static_cast<size_t>(depth) * 2, ' ');
    for (uint32_t n = 0; n < view_.nodes.size(); ++n) {
      if (view_.nodes[n].cluster == cluster) out_ += indent + Node(n);
    }
    for (uint32_t c = 0; c < view_.clusters.size(); ++c) {
      const CfgView::Cluster& inner = view_.clusters[c];
      if (inner.parent != cluster) continue;
      auto level = static_cast<size_t>(inner.level);
      out_ += fmt::format(
          "{}subgraph cluster_{} {{\n{}  label=\"{}\"; style=\"filled,rounded\"; fillcolor=\"{}\"; "
          "color=\"{}\";\n",
          indent, c, indent, Escape(inner.title), kRegionFill[level], kRegionLine[level]);
      Scope(c, depth + 1);
      out_ += indent + "}\n";
    }
  }

  std::string Node(uint32_t n) const {
    const CfgView::Node& node = view_.nodes[n];
    std::string text = Escape(Caption(node)) + "\\l";
    if (!node.why.empty()) text += Escape(node.why) + "\\l";
    for (const std::string& line : node.lines) text += "  " + Escape(line) + "\\l";
    std::string style;
    if (node.level != ir::Level::kLane || node.role != Role::kPlain) {
      size_t level = node.role == Role::kBarrier      ? 2
                     : node.role == Role::kCollective ? 1
                                                      : static_cast<size_t>(node.level);
      style += fmt::format(", fillcolor=\"{}\"", kBoundaryFill[level]);
      if (node.role != Role::kPlain) style += ", penwidth=2";
    }
    if (node.branches && node.decision > Uniformity::kWarp)
      style += fmt::format(", color=\"{}\", penwidth=2", kDivergent);
    return fmt::format("n{} [label=\"{}\"{}];\n", n, text, style);
  }

  void Edge(const CfgView::Edge& edge) {
    const CfgView::Node& from = view_.nodes[edge.from];
    std::string style;
    if (edge.divergent) {
      style = fmt::format(", color=\"{}\", fontcolor=\"{}\"", kDivergent, kDivergent);
    } else if (from.branches && from.decision == Uniformity::kWarp) {
      style = fmt::format(", color=\"{}\"", kWarpUniform);
    }
    if (edge.back) style += ", style=bold";
    out_ += fmt::format("  n{} -> n{} [label=\"{}\"{}];\n", edge.from, edge.to, Escape(edge.label), style);
  }

  const CfgView& view_;
  std::string out_;
};

std::string ClusterPath(const CfgView& view, uint32_t cluster) {
  std::string path;
  for (; cluster != ~0u; cluster = view.clusters[cluster].parent) {
    path = view.clusters[cluster].title + (path.empty() ? "" : " / " + path);
  }
  return path;
}

}  // namespace

std::string RenderDot(const CfgView& view) { return DotWriter(view).Write(); }

std::string RenderText(const CfgView& view) {
  std::string out = view.title + "\n";
  for (const std::string& note : view.notes) out += "  note: " + note + "\n";
  std::string region = "?";
  for (uint32_t n = 0; n < view.nodes.size(); ++n) {
    const CfgView::Node& node = view.nodes[n];
    std::string here = ClusterPath(view, node.cluster);
    if (here != region && !view.clusters.empty())
      out += here.empty() ? "-- between regions\n" : "-- " + here + "\n";
    region = here;
    out += "  " + Caption(node) + "\n";
    if (!node.why.empty()) out += "      " + node.why + "\n";
    for (const std::string& line : node.lines) out += "      " + line + "\n";
    if (node.dominator != ~0u) out += "      dominated by " + view.nodes[node.dominator].title + "\n";
    for (const CfgView::Edge& edge : view.edges) {
      if (edge.from != n) continue;
      out += "      -> " + view.nodes[edge.to].title + (edge.label.empty() ? "" : "  when " + edge.label);
      out += edge.divergent ? "  (threads may differ)" : "";
      out += edge.back ? "  (back)" : "";
      out += "\n";
    }
  }
  return out;
}

}  // namespace ptx2cpu::analysis

#include "tests/analysis/graphs.h"

namespace ptx2cpu::test {

Graph MakeGraph(const std::string& edges, const std::string& divergent) {
  Graph graph;
  graph.module.functions.emplace_back();
  ir::Function& f = graph.module.functions[0];
  f.name = "k";
  f.is_kernel = true;
  std::map<char, std::vector<char>> out;
  for (size_t i = 0; i + 1 < edges.size(); i += 3) {
    for (char c : {edges[i], edges[i + 1]}) {
      if (!graph.node.contains(c)) graph.node[c] = ir::AddBlock(f, std::string(1, c)).index;
    }
    out[edges[i]].push_back(edges[i + 1]);
  }
  f.entry = {graph.node.at(edges[0])};
  for (auto [name, index] : graph.node) {
    ir::Builder b{f, {index}};
    std::vector<ir::Edge> targets;
    for (char to : out[name]) targets.push_back({{graph.node.at(to)}, {}});
    bool varies = divergent.find(name) != std::string::npos;
    if (targets.empty()) {
      b.Ret();
    } else if (targets.size() == 1) {
      b.Br(targets[0].to);
    } else {
      ir::ValueId decision = b.SpecialRegister(varies ? ir::Special::kTidX : ir::Special::kCtaidX);
      b.Terminate(ir::Opcode::kSwitch, {decision}, std::move(targets));
    }
  }
  return graph;
}

ir::Module ParseText(const std::string& body) {
  Result<ir::Module> module = ir::Parse("module \"m\" ptx 8.0 sm 80\n" + body, "test.ir");
  if (!module) FAIL(module.error().Render());
  return std::move(*module);
}

}  // namespace ptx2cpu::test

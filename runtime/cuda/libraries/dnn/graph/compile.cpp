#include <bit>
#include <set>

#include "runtime/cuda/libraries/dnn/graph/builder.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

struct Uses {
  std::vector<int> reads, writes;
};

Tensor& At(Program& program, int tensor) { return program.tensors[static_cast<size_t>(tensor)]; }

// An order in which each tensor is written before it is read. Throws Refusal.
std::vector<size_t> InOrder(const Program& program, const std::vector<Uses>& uses) {
  std::vector<bool> ready(program.tensors.size(), true), written(program.tensors.size());
  for (const Uses& use : uses) {
    for (const int tensor : use.writes) {
      const auto index = static_cast<size_t>(tensor);
      if (written[index]) throw Refusal{"a tensor that several operations write"};
      written[index] = true, ready[index] = false;
    }
  }
  for (const Uses& use : uses) {
    for (const int tensor : use.reads) {
      const auto index = static_cast<size_t>(tensor);
      if (!written[index] && program.tensors[index].is_virtual)
        throw Refusal{"a virtual tensor that none writes"};
    }
  }
  std::vector<size_t> order;
  std::vector<bool> done(uses.size());
  for (bool more = true; more;) {
    more = false;
    for (size_t n = 0; n < uses.size(); ++n) {
      auto is_ready = [&](int tensor) {
        return ready[static_cast<size_t>(tensor)] ||
               std::ranges::find(uses[n].writes, tensor) != uses[n].writes.end();
      };
      if (done[n] || !std::ranges::all_of(uses[n].reads, is_ready)) continue;
      for (const int tensor : uses[n].writes) ready[static_cast<size_t>(tensor)] = true;
      order.push_back(n), done[n] = true, more = true;
    }
  }
  if (order.size() != uses.size()) throw Refusal{"operations in a cycle"};
  return order;
}

// Factors of products whose columns are next to each other in memory are held that way.
void HoldColumns(Program& program, const std::vector<Uses>& uses) {
  std::vector<bool> wanted(program.tensors.size(), true);
  for (size_t n = 0; n < uses.size(); ++n) {
    for (const int tensor : uses[n].writes) wanted[static_cast<size_t>(tensor)] = false;
    const auto* product = std::get_if<Product>(&program.steps[n].operation);
    for (const int tensor : uses[n].reads) {
      if (product == nullptr || (tensor != product->a && tensor != product->b))
        wanted[static_cast<size_t>(tensor)] = false;
    }
  }
  for (size_t n = 0; n < wanted.size(); ++n) {
    Layout& held = program.tensors[n].held;
    const size_t rank = held.extents.size();
    if (!wanted[n] || rank < 2 || held.strides[rank - 2] != 1 || held.strides[rank - 1] == 1) continue;
    std::swap(held.extents[rank - 2], held.extents[rank - 1]);
    std::swap(held.strides[rank - 2], held.strides[rank - 1]);
    program.tensors[n].swapped = true;
  }
  for (Step& step : program.steps) {
    if (auto* product = std::get_if<Product>(&step.operation)) {
      product->a_swapped = At(program, product->a).swapped;
      product->b_swapped = At(program, product->b).swapped;
    }
  }
}

// Whether the values can be used where the tensor is.
bool IsInPlace(const Program& program, const Tensor& tensor) {
  const cudnnDataType_t own = program.is_double ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  return !tensor.is_virtual && tensor.ragged == kNone && tensor.layout.type == own && tensor.held.IsPacked();
}

// When tensors are read and written, and places in the workspace for those that are not used where they are.
void Place(Program& program, const std::vector<Uses>& uses) {
  std::vector<bool> present(program.tensors.size());
  for (size_t n = 0; n < program.steps.size(); ++n) {
    Step& step = program.steps[n];
    for (const int number : uses[n].reads) {
      Tensor& tensor = At(program, number);
      if (tensor.first == kNone) tensor.first = static_cast<int>(n);
      tensor.last = static_cast<int>(n);
      if (!present[static_cast<size_t>(number)] && !IsInPlace(program, tensor)) step.loads.push_back(number);
      present[static_cast<size_t>(number)] = true;
    }
    for (const int number : uses[n].writes) {
      Tensor& tensor = At(program, number);
      if (tensor.first == kNone) tensor.first = static_cast<int>(n);
      tensor.last = std::max(tensor.last, static_cast<int>(n));
      if (!IsInPlace(program, tensor)) step.stores.push_back(number);
      present[static_cast<size_t>(number)] = true;
    }
  }
  const int64_t size = program.is_double ? 8 : 4;
  constexpr int64_t kAlignment = 64;
  std::vector<const Tensor*> placed;
  for (Tensor& tensor : program.tensors) {
    if (tensor.first == kNone || IsInPlace(program, tensor)) continue;
    const int64_t bytes = (tensor.held.Count() * size + kAlignment - 1) / kAlignment * kAlignment;
    // The first gap between those that are in use at the same time.
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (const Tensor* other : placed) {
      if (other->last < tensor.first || tensor.last < other->first) continue;
      taken.emplace_back(other->place,
                         (other->held.Count() * size + kAlignment - 1) / kAlignment * kAlignment);
    }
    std::ranges::sort(taken);
    int64_t place = 0;
    for (const auto& [begin, length] : taken) {
      if (begin - place >= bytes) break;
      place = std::max(place, begin + length);
    }
    tensor.place = place;
    placed.push_back(&tensor);
    program.workspace = std::max(program.workspace, place + bytes);
  }
}

}  // namespace

Compiled Compile(const Content& graph) {
  auto program = std::make_shared<Program>();
  std::string name = "the graph";
  try {
    std::vector<Uses> given;
    std::vector<Operation> operations;
    Builder builder(*program);
    for (const Link& operation : graph.Parts(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
      name = NameOf(operation->type());
      builder.Begin(*operation);
      operations.push_back(builder.Make());
      given.push_back({builder.reads(), builder.writes()});
    }
    name = "the graph";
    std::vector<Uses> uses;
    for (const size_t n : InOrder(*program, given)) {
      program->steps.push_back({std::move(operations[n]), {}, {}});
      uses.push_back(std::move(given[n]));
    }
    HoldColumns(*program, uses);
    Place(*program, uses);
  } catch (const Refusal& refusal) {
    return {nullptr, name + ": not supported: " + refusal.why};
  }
  return {std::move(program), {}};
}

}  // namespace ptx2cpu::cudnn

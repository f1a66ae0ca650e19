#include "runtime/cuda/libraries/dnn/graph/program.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

template <typename R>
constexpr cudnnDataType_t kOwnType = std::is_same_v<R, double> ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;

bool IsFloat(cudnnDataType_t type) { return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_DOUBLE; }

// The place in memory where each batch of a tensor begins, in elements, and the end of the last one.
class Offsets {
 public:
  Offsets(cudnnDataType_t type, const void* memory) : is_wide_(type == CUDNN_DATA_INT64), memory_(memory) {}
  int64_t operator[](int64_t batch) const {
    return is_wide_ ? static_cast<const int64_t*>(memory_)[batch]
                    : static_cast<const int32_t*>(memory_)[batch];
  }

 private:
  bool is_wide_;
  const void* memory_;
};

// A tensor with batches of different lengths, row by row: each(elements of the row that are in the batch,
// their layout, its place in memory, its place among the values).
template <typename Each>
void ForRaggedRows(const Tensor& tensor, const Offsets& begins, const Each& each) {
  const Layout& held = tensor.held;
  const size_t last = held.extents.size() - 1;
  const int64_t length = held.extents[last], step = held.strides[last];
  const int64_t batch_rows = held.Count() / std::max<int64_t>(held.extents[0] * length, 1);
  libraries::ForEach(held.extents[0], [&](int64_t batch) {
    const int64_t size = begins[batch + 1] - begins[batch];
    Layout row{held.type, {length}, {step}};
    for (int64_t n = 0; n < batch_rows; ++n) {
      int64_t place = 0, rest = n;
      for (size_t axis = last; axis-- > 1; rest /= held.extents[axis])
        place += rest % held.extents[axis] * held.strides[axis];
      const int64_t room = size - place;
      row.extents[0] =
          room <= 0 ? 0
                    : std::min(length, (room + std::max<int64_t>(step, 1) - 1) / std::max<int64_t>(step, 1));
      each(row, begins[batch] + place, (batch * batch_rows + n) * length);
    }
  });
}

template <typename R>
void LoadTensor(const Frame<R>& frame, int number) {
  const auto index = static_cast<size_t>(number);
  const Tensor& tensor = frame.program.tensors[index];
  R* const values = frame.values[index];
  if (tensor.ragged == kNone) return Load(tensor.held, frame.memory[index], values);
  const auto ragged = static_cast<size_t>(tensor.ragged);
  std::fill_n(values, tensor.held.Count(), R{});
  ForRaggedRows(tensor, {frame.program.tensors[ragged].layout.type, frame.memory[ragged]},
                [&](const Layout& row, int64_t place, int64_t at) {
                  if (row.extents[0] > 0)
                    Load(row, static_cast<const char*>(frame.memory[index]) + place * ElementBytes(row.type),
                         values + at);
                });
}

template <typename R>
void StoreTensor(const Frame<R>& frame, int number) {
  const auto index = static_cast<size_t>(number);
  const Tensor& tensor = frame.program.tensors[index];
  R* const values = frame.values[index];
  const bool used_again = tensor.last > tensor.first;
  if (!IsFloat(tensor.layout.type) && (tensor.is_virtual || used_again))
    Round(tensor.layout.type, values, tensor.held.Count());
  if (tensor.is_virtual) return;
  if (tensor.ragged == kNone) return Blend<R>(tensor.held, frame.memory[index], values, 1, 0);
  const auto ragged = static_cast<size_t>(tensor.ragged);
  ForRaggedRows(tensor, {frame.program.tensors[ragged].layout.type, frame.memory[ragged]},
                [&](const Layout& row, int64_t place, int64_t at) {
                  if (row.extents[0] > 0)
                    Blend<R>(row, static_cast<char*>(frame.memory[index]) + place * ElementBytes(row.type),
                             values + at, 1, 0);
                });
}

template <typename R>
void RunAs(const Program& program, const std::vector<void*>& memory, char* workspace) {
  Frame<R> frame{program, memory, std::vector<R*>(program.tensors.size())};
  for (size_t n = 0; n < program.tensors.size(); ++n) {
    const int64_t place = program.tensors[n].place;
    frame.values[n] = place == kNone ? static_cast<R*>(memory[n]) : reinterpret_cast<R*>(workspace + place);
  }
  for (const Step& step : program.steps) {
    for (const int tensor : step.loads) LoadTensor(frame, tensor);
    std::visit([&](const auto& operation) { Run(operation, frame); }, step.operation);
    for (const int tensor : step.stores) StoreTensor(frame, tensor);
  }
}

}  // namespace

void Run(const Program& program, const std::vector<void*>& memory, char* workspace) {
  if (program.is_double)
    RunAs<double>(program, memory, workspace);
  else
    RunAs<float>(program, memory, workspace);
}

}  // namespace ptx2cpu::cudnn

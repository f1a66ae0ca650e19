// Graphs of cuDNN's backend API as tests build them: tensors of numbers in memory of any strides, operations,
// the plan that the heuristics give, and its results.
#pragma once

#include <map>

#include "tests/libraries/cudnn_descriptor_case.h"

namespace ptx2cpu {

class DnnGraph : public DnnDescriptors {
 public:
  enum class Kind : uint8_t { kMemory, kVirtual, kValue };

  // Packed where there are no strides. Numbers that are missing are 0.
  int64_t Add(cuda::cudnnDataType_t type, const Extents& extents, std::vector<double> numbers = {},
              Extents strides = {}, Kind kind = Kind::kMemory, int64_t ragged = 0) {
    const auto uid = static_cast<int64_t>(tensors_.size()) + 1;
    Tensor& tensor = tensors_[uid];
    if (strides.empty()) {
      strides.resize(extents.size(), 1);
      for (size_t axis = extents.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * extents[axis];
    }
    tensor = {type, extents, strides, kind, nullptr, {}};
    tensor.descriptor = Make(cuda::CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    SetMode(tensor.descriptor, cuda::CUDNN_ATTR_TENSOR_DATA_TYPE, cuda::CUDNN_TYPE_DATA_TYPE, type);
    Set(tensor.descriptor, cuda::CUDNN_ATTR_TENSOR_DIMENSIONS, extents);
    Set(tensor.descriptor, cuda::CUDNN_ATTR_TENSOR_STRIDES, strides);
    Set(tensor.descriptor, cuda::CUDNN_ATTR_TENSOR_UNIQUE_ID, Extents{uid});
    Set(tensor.descriptor, cuda::CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, Extents{16});
    Set(tensor.descriptor, cuda::CUDNN_ATTR_TENSOR_IS_VIRTUAL, cuda::CUDNN_TYPE_BOOLEAN,
        std::vector<char>{kind == Kind::kVirtual});
    Set(tensor.descriptor, cuda::CUDNN_ATTR_TENSOR_IS_BY_VALUE, cuda::CUDNN_TYPE_BOOLEAN,
        std::vector<char>{kind == Kind::kValue});
    if (ragged != 0)
      Set(tensor.descriptor, cuda::CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC, tensors_[ragged].descriptor);
    Cudnn("cudnnBackendFinalize", tensor.descriptor);
    numbers.resize(Count(extents));
    int64_t span = 1;
    for (size_t axis = 0; axis < extents.size(); ++axis) span += (extents[axis] - 1) * strides[axis];
    tensor.memory.resize(static_cast<size_t>(span) * 8);
    for (size_t i = 0; i < numbers.size(); ++i) Element(tensor, i, [&](auto& at) { Store(numbers[i], at); });
    return uid;
  }
  int64_t AddVirtual(const Extents& extents, cuda::cudnnDataType_t type = cuda::CUDNN_DATA_FLOAT,
                     Extents strides = {}) {
    return Add(type, extents, {}, std::move(strides), Kind::kVirtual);
  }

  using Names = std::vector<std::pair<cuda::cudnnBackendAttributeName_t, int64_t>>;
  // An operation with tensors; `how` is its descriptor of parameters.
  Descriptor Operation(cuda::cudnnBackendDescriptorType_t type, const Names& tensors,
                       cuda::cudnnBackendAttributeName_t name = {}, Descriptor how = nullptr) {
    Descriptor operation = Make(type);
    for (const auto& [attribute, uid] : tensors) Set(operation, attribute, tensors_.at(uid).descriptor);
    if (how != nullptr) {
      Cudnn("cudnnBackendFinalize", how);
      Set(operation, name, how);
    }
    operations_.push_back(operation);
    return operation;
  }
  Descriptor Pointwise(cuda::cudnnPointwiseMode_t mode, const Names& tensors,
                       cuda::cudnnDataType_t type = {}) {
    Descriptor how = Make(cuda::CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    SetMode(how, cuda::CUDNN_ATTR_POINTWISE_MODE, cuda::CUDNN_TYPE_POINTWISE_MODE, mode);
    SetMode(how, cuda::CUDNN_ATTR_POINTWISE_MATH_PREC, cuda::CUDNN_TYPE_DATA_TYPE, type);
    return Operation(cuda::CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, tensors,
                     cuda::CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
  }
  int64_t Binary(cuda::cudnnPointwiseMode_t mode, int64_t x, int64_t b, int64_t y) {
    Names names{{cuda::CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x},
                {cuda::CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y}};
    if (b != 0) names.emplace_back(cuda::CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
    Pointwise(mode, names);
    return y;
  }
  void Product(int64_t a, int64_t b, int64_t c, cuda::cudnnDataType_t type = cuda::CUDNN_DATA_FLOAT) {
    Descriptor how = Make(cuda::CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    SetMode(how, cuda::CUDNN_ATTR_MATMUL_COMP_TYPE, cuda::CUDNN_TYPE_DATA_TYPE, type);
    Operation(cuda::CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
              {{cuda::CUDNN_ATTR_OPERATION_MATMUL_ADESC, a},
               {cuda::CUDNN_ATTR_OPERATION_MATMUL_BDESC, b},
               {cuda::CUDNN_ATTR_OPERATION_MATMUL_CDESC, c}},
              cuda::CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
  }
  void Reduce(cuda::cudnnReduceTensorOp_t op, int64_t x, int64_t y) {
    Descriptor how = Make(cuda::CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    SetMode(how, cuda::CUDNN_ATTR_REDUCTION_OPERATOR, cuda::CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, op);
    SetMode(how, cuda::CUDNN_ATTR_REDUCTION_COMP_TYPE, cuda::CUDNN_TYPE_DATA_TYPE, cuda::CUDNN_DATA_FLOAT);
    Operation(
        cuda::CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
        {{cuda::CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x}, {cuda::CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y}},
        cuda::CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
  }

  // The plan of the heuristics' one result; the status of the heuristics.
  int Plan() {
    Descriptor graph = Make(cuda::CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    for (Descriptor each : operations_) Cudnn("cudnnBackendFinalize", each);
    Set(graph, cuda::CUDNN_ATTR_OPERATIONGRAPH_OPS, cuda::CUDNN_TYPE_BACKEND_DESCRIPTOR, operations_);
    Set(graph, cuda::CUDNN_ATTR_OPERATIONGRAPH_HANDLE, cuda::CUDNN_TYPE_HANDLE, std::vector{handle_.handle});
    Cudnn("cudnnBackendFinalize", graph);
    Descriptor heuristics = Make(cuda::CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    Set(heuristics, cuda::CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    SetMode(heuristics, cuda::CUDNN_ATTR_ENGINEHEUR_MODE, cuda::CUDNN_TYPE_HEUR_MODE, 0);
    if (const int status = Cudnn().Call("cudnnBackendFinalize", heuristics)) return status;
    Descriptor configuration = Make(cuda::CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    int64_t count = 0;
    Cudnn("cudnnBackendGetAttribute", heuristics, cuda::CUDNN_ATTR_ENGINEHEUR_RESULTS,
          cuda::CUDNN_TYPE_BACKEND_DESCRIPTOR, int64_t{1}, &count, static_cast<void*>(&configuration));
    REQUIRE(count == 1);
    plan_ = Make(cuda::CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    Set(plan_, cuda::CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    Set(plan_, cuda::CUDNN_ATTR_EXECUTION_PLAN_HANDLE, cuda::CUDNN_TYPE_HANDLE, std::vector{handle_.handle});
    Cudnn("cudnnBackendFinalize", plan_);
    int64_t bytes = 0;
    Cudnn("cudnnBackendGetAttribute", plan_, cuda::CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
          cuda::CUDNN_TYPE_INT64, int64_t{1}, &count, static_cast<void*>(&bytes));
    workspace_.resize(static_cast<size_t>(bytes));
    return 0;
  }
  // A variant pack with all tensors in memory and by value.
  Descriptor Pack() {
    Extents uids;
    std::vector<void*> pointers;
    for (auto& [uid, tensor] : tensors_) {
      if (tensor.kind == Kind::kVirtual) continue;
      uids.push_back(uid), pointers.push_back(tensor.memory.data());
    }
    Descriptor pack = Make(cuda::CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    Set(pack, cuda::CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, uids);
    Set(pack, cuda::CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, cuda::CUDNN_TYPE_VOID_PTR, pointers);
    Set(pack, cuda::CUDNN_ATTR_VARIANT_PACK_WORKSPACE, cuda::CUDNN_TYPE_VOID_PTR,
        std::vector<void*>{workspace_.data()});
    Cudnn("cudnnBackendFinalize", pack);
    return pack;
  }
  void Run() {
    REQUIRE(Plan() == 0);
    Cudnn("cudnnBackendExecute", handle_.handle, plan_, Pack());
    REQUIRE(cudart::cudaDeviceSynchronize() == cuda::cudaSuccess);
  }
  std::vector<double> Get(int64_t uid) {
    Tensor& tensor = tensors_.at(uid);
    std::vector<double> numbers(Count(tensor.extents));
    for (size_t i = 0; i < numbers.size(); ++i)
      Element(tensor, i, [&](auto& at) { numbers[i] = NumberOf(at); });
    return numbers;
  }
  void Check(int64_t uid, const std::vector<double>& wanted, double unit = 2e-6, double size = 1) {
    const std::vector<double> found = Get(uid);
    REQUIRE(found.size() == wanted.size());
    for (size_t i = 0; i < found.size(); ++i) {
      INFO("tensor " << uid << ", " << i << ": " << found[i] << " for " << wanted[i]);
      REQUIRE(
          (found[i] == wanted[i] || std::abs(found[i] - wanted[i]) <= unit * (std::abs(wanted[i]) + size)));
    }
  }
  cuda::cudnnHandle_t handle() const { return handle_.handle; }
  Descriptor plan() const { return plan_; }
  Descriptor tensor(int64_t uid) { return tensors_.at(uid).descriptor; }
  static size_t Count(const Extents& extents) {
    return static_cast<size_t>(
        std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>()));
  }

 private:
  struct Tensor {
    cuda::cudnnDataType_t type;
    Extents extents, strides;
    Kind kind;
    Descriptor descriptor;
    std::vector<char> memory;
  };
  // Calls each with element `number`, in the order of the extents.
  template <typename Each>
  static void Element(Tensor& tensor, size_t number, const Each& each) {
    size_t place = 0;
    for (size_t axis = tensor.extents.size(); axis-- > 0;) {
      const auto extent = static_cast<size_t>(tensor.extents[axis]);
      place += number % extent * static_cast<size_t>(tensor.strides[axis]);
      number /= extent;
    }
    ForElement(tensor.type, tensor.memory.data(), place, each);
  }

  DnnHandle handle_ = {};
  std::map<int64_t, Tensor> tensors_ = {};
  std::vector<Descriptor> operations_ = {};
  std::vector<char> workspace_ = {};
  Descriptor plan_ = nullptr;
};

}  // namespace ptx2cpu

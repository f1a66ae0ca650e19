// Builds a program: tensors by their numbers, and a step for each operation of the graph.
#pragma once

#include <string>

#include "runtime/cuda/libraries/dnn/graph/program.h"

namespace ptx2cpu::cudnn {

// Why an operation has no step.
struct Refusal {
  std::string why;
};

class Builder {
 public:
  explicit Builder(Program& program) : program_(program) {}

  // The step of an operation; throws Refusal.
  void Begin(const Content& operation) { operation_ = &operation, reads_.clear(), writes_.clear(); }
  Operation Make();

  // The tensor of an attribute, which the operation reads or writes; kNone: it is not set.
  int In(cudnnBackendAttributeName_t name);
  int Out(cudnnBackendAttributeName_t name);
  int InPart(const Link& tensor);
  void AlsoReads(int tensor) { reads_.push_back(tensor); }
  const std::vector<int>& reads() const { return reads_; }
  const std::vector<int>& writes() const { return writes_; }

 private:
  int Number(const Link& tensor);
  const std::vector<int64_t>& Extents(int tensor) const;
  void Check(bool holds, const char* why) const;
  // Steps through an array of the tensor's size in loops over `extents`; 0 where the tensor is 1 long.
  std::vector<int64_t> StepsOver(int tensor, const std::vector<int64_t>& extents) const;
  // The groups of x's elements that are one element each of a tensor of extents `kept`.
  Groups GroupsOf(const std::vector<int64_t>& x, const std::vector<int64_t>& kept) const;
  template <size_t kArrays>
  Nest<kArrays> NormNest(int x, const std::vector<int64_t>& statistics, int scale, int bias) const;
  void WantComputeType(cudnnDataType_t type);

  Operation MakePointwise();
  Operation MakeProduct();
  Operation MakeConvolution(ConvolutionKind kind);
  Operation MakeReduction();
  Operation MakeMoments();
  Operation MakeNormForward();
  Operation MakeNormBackward();
  Operation MakeBatchFinalize();
  Operation MakeResample(bool backward);
  Operation MakeConcat();
  Operation MakeReshape();
  Operation MakeRandom();
  std::vector<int64_t> StatisticsOf(cudnnBackendNormMode_t mode, int x, int scale, int statistics) const;

  Program& program_;
  const Content* operation_ = nullptr;
  std::vector<int> reads_, writes_;
};

}  // namespace ptx2cpu::cudnn

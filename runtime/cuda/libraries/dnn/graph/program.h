// An operation graph as a list of steps over arrays of floats or doubles, and its execution.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "runtime/cuda/libraries/dnn/graph/content.h"
#include "runtime/cuda/libraries/dnn/graph/nest.h"
#include "runtime/cuda/libraries/dnn/shapes.h"

namespace ptx2cpu::cudnn {

inline constexpr int kNone = -1;  // a tensor that an operation does not have

// Numbers of tensors in the program are `int`.
struct Pointwise {
  cudnnPointwiseMode_t mode;
  int x, b, t, y;  // backward: the gradient, the forward's input, none, the input's gradient
  double alpha1, alpha2, lower, upper, slope, elu, softplus, swish;
  int64_t index_step, index_extent;  // GEN_INDEX: place / step % extent
  Nest<4> nest;                      // y, x, b, t
};
struct Product {
  int a, b, c, rows, columns, depths;  // the last three: sizes of each batch that count, or kNone
  int64_t m, n, k;
  bool a_swapped, b_swapped;                // held with the last two axes exchanged
  std::vector<int64_t> a_places, b_places;  // of each batch
  std::vector<int64_t> limit_places;        // of each batch in rows, columns, depths
  double padding;
};
enum class ConvolutionKind : uint8_t { kForward, kData, kFilter };
struct Convolution {
  ConvolutionKind kind;
  int x, w, y;
  ConvolutionShape shape;
  double alpha, beta;
};
// Sums and the like: groups of the input's elements along `inside` are one element of the output.
struct Groups {
  Nest<2> kept;    // output, input
  Nest<1> inside;  // input
  int64_t count;   // elements of a group
};
struct Reduction {
  cudnnReduceTensorOp_t op;
  int x, y;
  Groups groups;
};
struct Moments {  // sums and sums of squares
  int x, sum, squares;
  Groups groups;
};
// x and the statistics of each of its groups; scale and bias.
struct NormForward {
  bool has_mean, reads_statistics;
  int x, mean, inverse, scale, bias, epsilon, factor, in_mean, in_variance, out_mean, out_variance, y;
  int64_t statistics;
  Groups groups;
  Nest<4> nest;  // x and y, statistics, scale, bias
};
struct NormBackward {
  bool has_mean, batch_statistics;
  int x, dy, mean, inverse, scale, dscale, dbias, dx, epsilon;
  int64_t statistics, scales;
  Groups groups, scale_groups;
  Nest<3> nest;  // x, statistics, scale
};
struct BatchFinalize {
  bool training;
  int sum, squares, scale, bias, in_mean, in_variance, out_mean, out_variance, mean, inverse, to_scale,
      to_bias, count, epsilon, factor;
  int64_t channels;
};
struct Resample {
  cudnnResampleMode_t mode;
  bool backward;
  int x, y, dx, dy, index;
  int64_t planes;
  Windows windows;
};
struct Concat {
  std::vector<int> inputs;
  int y;
  std::vector<int64_t> lengths;  // of each input, in elements that are next to each other
  int64_t pieces, length;
};
// y is x's memory, read by y's strides.
struct Reshape {
  int x, y;
  int64_t span;     // elements of x's memory
  Nest<2> in, out;  // packed, memory
  bool in_packed;
};
struct Random {
  cudnnRngDistribution_t kind;
  int seed, offset, y;
  int64_t fixed_seed;
  double a, b;  // probability; least and greatest; mean and deviation
};
using Operation = std::variant<Pointwise, Product, Convolution, Reduction, Moments, NormForward, NormBackward,
                               BatchFinalize, Resample, Concat, Reshape, Random>;

struct Step {
  Operation operation;
  std::vector<int> loads, stores;  // tensors in memory that are read before, written after
};

struct Tensor {
  int64_t uid = 0;
  Layout layout = {};  // in memory
  Layout held = {};    // the order in which its elements are held: packed, with these strides in memory
  bool is_virtual = false, by_value = false, swapped = false;
  int ragged = kNone;               // where each batch begins
  int64_t place = kNone;            // bytes from the begin of the workspace, or kNone: it is used where it is
  int first = kNone, last = kNone;  // steps that use it
};

struct Program {
  bool is_double = false;
  std::vector<Tensor> tensors = {};
  std::vector<Step> steps = {};
  int64_t workspace = 0;  // bytes
};

// The program of a graph, or the operation and the reason for which there is none.
Compiled Compile(const Content& graph);

// A by-value tensor's bytes, copied when the function is called.
struct ValueBytes {
  char bytes[16];
};
// memory: of each tensor.
void Run(const Program& program, const std::vector<void*>& memory, char* workspace);

// What a step sees: the values of each tensor, packed in the order of `held`; and memory as it is.
template <typename R>
struct Frame {
  const Program& program;
  const std::vector<void*>& memory;
  std::vector<R*> values;

  R* operator[](int tensor) const { return tensor == kNone ? nullptr : values[static_cast<size_t>(tensor)]; }
  double First(int tensor, double otherwise) const {
    return tensor == kNone ? otherwise : static_cast<double>(values[static_cast<size_t>(tensor)][0]);
  }
  int64_t Count(int tensor) const { return program.tensors[static_cast<size_t>(tensor)].layout.Count(); }
};

template <typename R>
void Run(const Pointwise& step, const Frame<R>& frame);
template <typename R>
void Run(const Product& step, const Frame<R>& frame);
template <typename R>
void Run(const Convolution& step, const Frame<R>& frame);
template <typename R>
void Run(const Reduction& step, const Frame<R>& frame);
template <typename R>
void Run(const Moments& step, const Frame<R>& frame);
template <typename R>
void Run(const NormForward& step, const Frame<R>& frame);
template <typename R>
void Run(const NormBackward& step, const Frame<R>& frame);
template <typename R>
void Run(const BatchFinalize& step, const Frame<R>& frame);
template <typename R>
void Run(const Resample& step, const Frame<R>& frame);
template <typename R>
void Run(const Concat& step, const Frame<R>& frame);
template <typename R>
void Run(const Reshape& step, const Frame<R>& frame);
template <typename R>
void Run(const Random& step, const Frame<R>& frame);

}  // namespace ptx2cpu::cudnn

#include "runtime/cuda/libraries/dnn/convolution.h"

#include <algorithm>
#include <memory>

#include "runtime/cuda/libraries/core/openblas.h"
#include "runtime/cuda/libraries/core/parallel.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

using libraries::Blas;
using libraries::ForEach;

// One product: the columns for `tile` places of the output.
constexpr int64_t kMaxColumns = 1 << 18, kMinTile = 64;

struct Sizes {
  explicit Sizes(const ConvolutionShape& shape)
      : in(Volume(shape.windows.in)),
        out(Volume(shape.windows.out)),
        window(Volume(shape.windows.window)),
        rows(shape.inputs * window),
        tile(std::clamp(kMaxColumns / rows, std::min(kMinTile, out), out)),
        tiles((out + tile - 1) / tile) {}
  int64_t in, out, window, rows, tile, tiles;
};

// Calls run(first column, columns, row of the input, place in the row) for the outputs first ... last, a row
// of the output at a time; the row is negative where the window is outside.
template <typename Run>
void ForOutputRows(const Windows& w, int64_t number, int64_t first, int64_t last, const Run& run) {
  const Space at = PlaceOf(number, w.window);
  for (int64_t o = first; o < last;) {
    const Space out = PlaceOf(o, w.out);
    const int64_t length = std::min(last - o, w.out[2] - out[2]);
    Space in;
    for (size_t axis = 0; axis < kMaxSpace; ++axis)
      in[axis] = out[axis] * w.stride[axis] - w.pad[axis] + at[axis] * w.dilation[axis];
    const bool inside = in[0] >= 0 && in[0] < w.in[0] && in[1] >= 0 && in[1] < w.in[1];
    run(o - first, length, inside ? (in[0] * w.in[1] + in[1]) * w.in[2] : -1, in[2]);
    o += length;
  }
}

// What the windows of the outputs first ... last read of a channel: a row for each place of the window.
template <typename R>
void ReadColumns(const Windows& w, const R* channel, int64_t first, int64_t last, R* columns) {
  for (int64_t number = 0; number < Volume(w.window); ++number, columns += last - first) {
    ForOutputRows(w, number, first, last, [&](int64_t column, int64_t length, int64_t row, int64_t from) {
      for (int64_t i = 0; i < length; ++i) {
        const int64_t at = from + i * w.stride[2];
        columns[column + i] = row >= 0 && at >= 0 && at < w.in[2] ? channel[row + at] : R{};
      }
    });
  }
}
template <typename R>
void AddColumns(const Windows& w, const R* columns, int64_t first, int64_t last, R* channel) {
  for (int64_t number = 0; number < Volume(w.window); ++number, columns += last - first) {
    ForOutputRows(w, number, first, last, [&](int64_t column, int64_t length, int64_t row, int64_t from) {
      for (int64_t i = 0; row >= 0 && i < length; ++i) {
        const int64_t at = from + i * w.stride[2];
        if (at >= 0 && at < w.in[2]) channel[row + at] += columns[column + i];
      }
    });
  }
}

// c = op(a) * op(b) + beta * c, by columns.
template <typename R>
void Multiply(char op_a, char op_b, int64_t m, int64_t n, int64_t k, const R* a, int64_t lda, const R* b,
              int64_t ldb, R beta, R* c, int64_t ldc) {
  Blas<"gemm", R>(op_a, op_b, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), R{1}, a,
                  static_cast<int>(lda), b, static_cast<int>(ldb), beta, c, static_cast<int>(ldc));
}

// A filter in the input's direction.
template <typename R>
std::unique_ptr<R[]> Flipped(const ConvolutionShape& shape, const R* w) {
  const int64_t window = Volume(shape.windows.window), filters = shape.groups * shape.outputs * shape.inputs;
  auto flipped = Storage<R>(filters * window);
  for (int64_t n = 0; n < filters; ++n)
    std::reverse_copy(w + n * window, w + (n + 1) * window, &flipped[n * window]);
  return flipped;
}

// Channels that one piece of work takes, so that all threads have a piece.
int64_t ChannelsAtOnce(const ConvolutionShape& shape, int64_t pieces) {
  const int64_t wanted = std::max<int64_t>(4 * libraries::Threads() / std::max<int64_t>(pieces, 1), 1);
  return std::max<int64_t>((shape.inputs + wanted - 1) / wanted, 1);
}

}  // namespace

bool Fits(const ConvolutionShape& shape) {
  const Sizes size(shape);
  return libraries::FitBlas(size.out, size.rows, size.tile, shape.outputs);
}

template <typename R>
void Forward(const ConvolutionShape& shape, const R* x, const R* w, R* y) {
  const Sizes size(shape);
  std::unique_ptr<R[]> flipped;
  if (shape.flips) w = (flipped = Flipped(shape, w)).get();
  ForEach(shape.images * shape.groups * size.tiles, [&](int64_t piece) {
    const int64_t tile = piece % size.tiles, image = piece / size.tiles, group = image % shape.groups;
    const int64_t first = tile * size.tile, last = std::min(first + size.tile, size.out);
    const auto columns = Storage<R>(size.rows * (last - first));
    for (int64_t c = 0; c < shape.inputs; ++c) {
      ReadColumns(shape.windows, x + (image * shape.inputs + c) * size.in, first, last,
                  &columns[c * size.window * (last - first)]);
    }
    Multiply<R>('N', 'N', last - first, shape.outputs, size.rows, columns.get(), last - first,
                w + group * shape.outputs * size.rows, size.rows, 0,
                y + image * shape.outputs * size.out + first, size.out);
  });
}

template <typename R>
void BackwardData(const ConvolutionShape& shape, const R* w, const R* dy, R* dx) {
  const Sizes size(shape);
  std::unique_ptr<R[]> flipped;
  if (shape.flips) w = (flipped = Flipped(shape, w)).get();
  const int64_t at_once = ChannelsAtOnce(shape, shape.images * shape.groups),
                parts = (shape.inputs + at_once - 1) / at_once;
  ForEach(shape.images * shape.groups * parts, [&](int64_t piece) {
    const int64_t image = piece / parts, group = image % shape.groups, begin = piece % parts * at_once;
    const int64_t end = std::min(begin + at_once, shape.inputs), rows = (end - begin) * size.window;
    R* const channels = dx + (image * shape.inputs + begin) * size.in;
    std::fill_n(channels, (end - begin) * size.in, R{});
    const auto columns = Storage<R>(rows * size.tile);
    for (int64_t first = 0; first < size.out; first += size.tile) {
      const int64_t last = std::min(first + size.tile, size.out);
      Multiply<R>('N', 'T', last - first, rows, shape.outputs, dy + image * shape.outputs * size.out + first,
                  size.out, w + group * shape.outputs * size.rows + begin * size.window, size.rows, 0,
                  columns.get(), last - first);
      for (int64_t c = 0; c < end - begin; ++c) {
        AddColumns(shape.windows, &columns[c * size.window * (last - first)], first, last,
                   channels + c * size.in);
      }
    }
  });
}

template <typename R>
void BackwardFilter(const ConvolutionShape& shape, const R* x, const R* dy, R* dw) {
  const Sizes size(shape);
  const int64_t at_once = ChannelsAtOnce(shape, shape.groups), parts = (shape.inputs + at_once - 1) / at_once;
  ForEach(shape.groups * parts, [&](int64_t piece) {
    const int64_t group = piece / parts, begin = piece % parts * at_once;
    const int64_t end = std::min(begin + at_once, shape.inputs), rows = (end - begin) * size.window;
    const auto columns = Storage<R>(rows * size.tile);
    for (int64_t n = 0; n < shape.images; ++n) {
      const int64_t image = n * shape.groups + group;
      for (int64_t first = 0; first < size.out; first += size.tile) {
        const int64_t last = std::min(first + size.tile, size.out);
        for (int64_t c = begin; c < end; ++c) {
          ReadColumns(shape.windows, x + (image * shape.inputs + c) * size.in, first, last,
                      &columns[(c - begin) * size.window * (last - first)]);
        }
        Multiply<R>('T', 'N', rows, shape.outputs, last - first, columns.get(), last - first,
                    dy + image * shape.outputs * size.out + first, size.out, n == 0 && first == 0 ? 0 : 1,
                    dw + group * shape.outputs * size.rows + begin * size.window, size.rows);
      }
    }
  });
  if (!shape.flips) return;
  for (int64_t n = 0; n < shape.groups * shape.outputs * shape.inputs; ++n)
    std::reverse(dw + n * size.window, dw + (n + 1) * size.window);
}

template void Forward(const ConvolutionShape&, const float*, const float*, float*);
template void BackwardData(const ConvolutionShape&, const float*, const float*, float*);
template void BackwardFilter(const ConvolutionShape&, const float*, const float*, float*);
template void Forward(const ConvolutionShape&, const double*, const double*, double*);
template void BackwardData(const ConvolutionShape&, const double*, const double*, double*);
template void BackwardFilter(const ConvolutionShape&, const double*, const double*, double*);

}  // namespace ptx2cpu::cudnn

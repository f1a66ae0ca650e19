// Spatial transformers (M. Jaderberg et al., Spatial Transformer Networks, 2015): a grid of places, from an
// affine map of each sample, and images sampled there. Places are from -1, the centre of the first pixel, to
// 1, the centre of the last one; outside of the image there are zeros.
#include <cmath>

#include "runtime/cuda/libraries/core/parallel.h"
#include "runtime/cuda/libraries/dnn/descriptor_calls.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

constexpr size_t kRank = 4;  // samples, channels, height, width

Layout PackedLayout(cudnnDataType_t type, std::vector<int64_t> extents) {
  std::vector<int64_t> strides = PackedStrides(extents);
  return {type, std::move(extents), std::move(strides)};
}
Layout GridOf(const cudnnSpatialTransformerStruct& t) {
  return PackedLayout(t.type, {t.extents[0], t.extents[2], t.extents[3], 2});
}
Layout MapsOf(const cudnnSpatialTransformerStruct& t) { return PackedLayout(t.type, {t.extents[0], 2, 3}); }
cudnnStatus_t WrongTransformer(const cudnnSpatialTransformerStruct& t) {
  if (t.extents.empty()) return CUDNN_STATUS_BAD_PARAM;
  return t.extents.size() == kRank ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}
cudnnStatus_t WrongTensors(const cudnnSpatialTransformerStruct& t, const Layout& in, const Layout& out) {
  if (const cudnnStatus_t wrong = WrongTransformer(t)) return wrong;
  if (in.extents.size() != kRank || out.extents != t.extents || in.extents[0] != t.extents[0] ||
      in.extents[1] != t.extents[1] || in.type != t.type || out.type != t.type)
    return CUDNN_STATUS_BAD_PARAM;
  return CUDNN_STATUS_SUCCESS;
}

// Where pixel i of `count` is.
template <typename R>
R Place(int64_t i, int64_t count) {
  return count == 1 ? R{0} : static_cast<R>(2 * i) / static_cast<R>(count - 1) - 1;
}

// The four pixels around a place, with their weights; those outside of the image are left out.
template <typename R, typename Pixel>
void ForPixels(int64_t height, int64_t width, const R* place, const Pixel& pixel) {
  const R x = (place[0] + 1) * static_cast<R>(width - 1) / 2,
          y = (place[1] + 1) * static_cast<R>(height - 1) / 2;
  // Also false for what is no number.
  if (!(x > -1 && x < static_cast<R>(width) && y > -1 && y < static_cast<R>(height))) return;
  const auto left = static_cast<int64_t>(std::floor(x)), top = static_cast<int64_t>(std::floor(y));
  const R right_part = x - static_cast<R>(left), low_part = y - static_cast<R>(top);
  for (int64_t corner = 0; corner < 4; ++corner) {
    const int64_t column = left + corner % 2, row = top + corner / 2;
    if (column < 0 || column >= width || row < 0 || row >= height) continue;
    const R of_x = corner % 2 != 0 ? right_part : 1 - right_part,
            of_y = corner / 2 != 0 ? low_part : 1 - low_part;
    pixel(row * width + column, of_x, of_y, corner);
  }
}

// One sample: `dx` and `dgrid` are sums over all places, and over all channels.
template <typename R>
void SampleBackward(const std::vector<int64_t>& in, int64_t places, const R* x, const R* dy, const R* grid,
                    R* dx, R* dgrid) {
  const int64_t image = in[2] * in[3];
  std::fill(dx, dx + in[1] * image, R{});
  for (int64_t i = 0; i < places; ++i) {
    R along_x = 0, along_y = 0;
    ForPixels(in[2], in[3], grid + 2 * i, [&](int64_t at, R of_x, R of_y, int64_t corner) {
      for (int64_t c = 0; c < in[1]; ++c) {
        const R gradient = dy[c * places + i], value = x[c * image + at];
        dx[c * image + at] += gradient * of_x * of_y;
        along_x += (corner % 2 != 0 ? gradient : -gradient) * of_y * value;
        along_y += (corner / 2 != 0 ? gradient : -gradient) * of_x * value;
      }
    });
    dgrid[2 * i] = along_x * static_cast<R>(in[3] - 1) / 2;
    dgrid[2 * i + 1] = along_y * static_cast<R>(in[2] - 1) / 2;
  }
}

}  // namespace

cudnnStatus_t cudnnSetSpatialTransformerNdDescriptor(cudnnSpatialTransformerDescriptor_t transformer,
                                                     cudnnSamplerType_t sampler, cudnnDataType_t type,
                                                     int count, const int extents[]) {
  if (!AllGiven(transformer, extents) || sampler != CUDNN_SAMPLER_BILINEAR || count < 1 ||
      type < CUDNN_DATA_FLOAT || type > kLastType || !ArePositive(ListOf(extents, count)))
    return CUDNN_STATUS_BAD_PARAM;
  if (type != CUDNN_DATA_FLOAT && type != CUDNN_DATA_DOUBLE && type != CUDNN_DATA_HALF)
    return CUDNN_STATUS_NOT_SUPPORTED;
  *transformer = {sampler, type, ListOf(extents, count)};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSpatialTfGridGeneratorForward(cudnnHandle_t handle,
                                                 cudnnSpatialTransformerDescriptor_t transformer,
                                                 const void* theta, void* grid) {
  if (!AllGiven(handle, transformer, theta, grid)) return CUDNN_STATUS_BAD_PARAM;
  if (const cudnnStatus_t wrong = WrongTransformer(*transformer)) return wrong;
  return OnStream(handle, "cudnnSpatialTfGridGeneratorForward", [=, t = *transformer] {
    WithReal(t.type, [&]<typename R>(R) {
      const int64_t height = t.extents[2], width = t.extents[3], places = height * width;
      const Packed<R> maps(MapsOf(t), theta);
      const auto result = Storage<R>(t.extents[0] * places * 2);
      libraries::ForRanges(t.extents[0] * height, 16, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin * width; i < end * width; ++i) {
          const R* const map = maps.get() + i / places * 6;
          const R x = Place<R>(i % width, width), y = Place<R>(i / width % height, height);
          for (int64_t r = 0; r < 2; ++r)
            result[2 * i + r] = map[3 * r] * x + map[3 * r + 1] * y + map[3 * r + 2];
        }
      });
      Blend<R>(GridOf(t), grid, result.get(), 1, 0);
    });
  });
}

cudnnStatus_t cudnnSpatialTfGridGeneratorBackward(cudnnHandle_t handle,
                                                  cudnnSpatialTransformerDescriptor_t transformer,
                                                  const void* dgrid, void* dtheta) {
  if (!AllGiven(handle, transformer, dgrid, dtheta)) return CUDNN_STATUS_BAD_PARAM;
  if (const cudnnStatus_t wrong = WrongTransformer(*transformer)) return wrong;
  return OnStream(handle, "cudnnSpatialTfGridGeneratorBackward", [=, t = *transformer] {
    WithReal(t.type, [&]<typename R>(R) {
      const int64_t height = t.extents[2], width = t.extents[3], places = height * width;
      const Packed<R> gradient(GridOf(t), dgrid);
      const auto result = Storage<R>(t.extents[0] * 6);
      std::fill(result.get(), result.get() + t.extents[0] * 6, R{});
      libraries::ForRanges(t.extents[0], 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin * places; i < end * places; ++i) {
          R* const map = result.get() + i / places * 6;
          const R from[] = {Place<R>(i % width, width), Place<R>(i / width % height, height), 1};
          for (int64_t k = 0; k < 6; ++k) map[k] += gradient.get()[2 * i + k / 3] * from[k % 3];
        }
      });
      Blend<R>(MapsOf(t), dtheta, result.get(), 1, 0);
    });
  });
}

cudnnStatus_t cudnnSpatialTfSamplerForward(cudnnHandle_t handle,
                                           cudnnSpatialTransformerDescriptor_t transformer, const void* alpha,
                                           cudnnTensorDescriptor_t xLayout, const void* x, const void* grid,
                                           const void* beta, cudnnTensorDescriptor_t yLayout, void* y) {
  if (!AllGiven(handle, transformer, alpha, xLayout, x, grid, beta, yLayout, y))
    return CUDNN_STATUS_BAD_PARAM;
  if (const cudnnStatus_t wrong = WrongTensors(*transformer, xLayout->layout, yLayout->layout)) return wrong;
  return Submit(handle, "cudnnSpatialTfSamplerForward", alpha, beta, yLayout->layout, y,
                [=, t = *transformer, xl = xLayout->layout]<typename R>(R* result) {
                  const Packed<R> input(xl, x), where(GridOf(t), grid);
                  const int64_t channels = t.extents[1], places = t.extents[2] * t.extents[3];
                  const int64_t height = xl.extents[2], width = xl.extents[3];
                  libraries::ForRanges(t.extents[0] * channels, 1, [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin * places; i < end * places; ++i) {
                      const R* const image = input.get() + i / places * height * width;
                      const int64_t place = i / places / channels * places + i % places;
                      R sum = 0;
                      ForPixels(height, width, where.get() + 2 * place,
                                [&](int64_t at, R of_x, R of_y, int64_t) { sum += image[at] * of_x * of_y; });
                      result[i] = sum;
                    }
                  });
                });
}

cudnnStatus_t cudnnSpatialTfSamplerBackward(cudnnHandle_t handle,
                                            cudnnSpatialTransformerDescriptor_t transformer,
                                            const void* alpha, cudnnTensorDescriptor_t xLayout, const void* x,
                                            const void* beta, cudnnTensorDescriptor_t dxLayout, void* dx,
                                            const void* alphaGrid, cudnnTensorDescriptor_t dyLayout,
                                            const void* dy, const void* grid, const void* betaGrid,
                                            void* dgrid) {
  if (!AllGiven(handle, transformer, alpha, xLayout, x, beta, dxLayout, dx, alphaGrid, dyLayout, dy, grid,
                betaGrid, dgrid))
    return CUDNN_STATUS_BAD_PARAM;
  if (const cudnnStatus_t wrong = WrongTensors(*transformer, xLayout->layout, dyLayout->layout)) return wrong;
  if (dxLayout->layout.extents != xLayout->layout.extents || dxLayout->layout.type != transformer->type)
    return CUDNN_STATUS_BAD_PARAM;
  const cudnnDataType_t type = transformer->type;
  const double a = Factor(alpha, type), b = Factor(beta, type), grid_a = Factor(alphaGrid, type),
               grid_b = Factor(betaGrid, type);
  return OnStream(
      handle, "cudnnSpatialTfSamplerBackward",
      [=, t = *transformer, xl = xLayout->layout, to = dxLayout->layout, dl = dyLayout->layout] {
        WithReal(t.type, [&]<typename R>(R) {
          const Packed<R> input(xl, x), gradient(dl, dy), where(GridOf(t), grid);
          const int64_t places = t.extents[2] * t.extents[3];
          const int64_t in = xl.Count() / t.extents[0], out = t.extents[1] * places;
          const auto of_x = Storage<R>(xl.Count()), of_grid = Storage<R>(t.extents[0] * places * 2);
          libraries::ForRanges(t.extents[0], 1, [&](int64_t begin, int64_t end) {
            for (int64_t n = begin; n < end; ++n) {
              SampleBackward(xl.extents, places, input.get() + n * in, gradient.get() + n * out,
                             where.get() + 2 * n * places, of_x.get() + n * in,
                             of_grid.get() + 2 * n * places);
            }
          });
          Blend<R>(to, dx, of_x.get(), static_cast<R>(a), static_cast<R>(b));
          Blend<R>(GridOf(t), dgrid, of_grid.get(), static_cast<R>(grid_a), static_cast<R>(grid_b));
        });
      });
}

}  // namespace ptx2cpu::cudnn

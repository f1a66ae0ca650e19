// References of vector_add, saxpy, dot_product, spmv and the stencils.
#include <cmath>

#include "reference.h"

namespace corpus {
namespace {

void VectorAdd(Call& call) {
  const auto a = call.In<float>(0), b = call.In<float>(1);
  for (uint32_t i = 0; i < call.Value<uint32_t>(3); ++i) call.Out<float>(2)[i] = a[i] + b[i];
}

void Saxpy(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(3); ++i) {
    float& y = call.Out<float>(2)[i];
    y = std::fma(call.Value<float>(0), call.In<float>(1)[i], y);
  }
}

// Adds the upper half onto the lower one until one value is left; the middle of an odd count stays.
float Tree(std::vector<float> values) {
  while (values.size() > 1) {
    const size_t half = (values.size() + 1) / 2;
    for (size_t i = 0; i + half < values.size(); ++i) values[i] += values[i + half];
    values.resize(half);
  }
  return values[0];
}

void DotProduct(Call& call) {
  const auto x = call.In<float>(0), y = call.In<float>(1);
  const uint32_t n = call.Value<uint32_t>(3);
  for (uint32_t b = 0; b < call.grid[0]; ++b) {
    std::vector<float> sums;
    for (uint32_t t = 0; t < call.block[0]; ++t) {
      float sum = 0;
      for (uint32_t i = b * call.block[0] + t; i < n; i += call.Threads()) sum = std::fma(x[i], y[i], sum);
      sums.push_back(sum);
    }
    call.Out<float>(2)[b] = Tree(sums);
  }
}

void SpmvThread(Call& call) {
  const auto offsets = call.In<uint32_t>(0), columns = call.In<uint32_t>(1);
  const auto values = call.In<float>(2), x = call.In<float>(3);
  for (uint32_t row = 0; row < call.Value<uint32_t>(5); ++row) {
    float sum = 0;
    for (uint32_t e = offsets[row]; e < offsets[row + 1]; ++e) sum = std::fma(values[e], x[columns[e]], sum);
    call.Out<float>(4)[row] = sum;
  }
}

void SpmvWarp(Call& call) {
  const auto offsets = call.In<uint32_t>(0), columns = call.In<uint32_t>(1);
  const auto values = call.In<float>(2), x = call.In<float>(3);
  ForEachWarp(call, [&](uint32_t row, uint32_t, uint32_t lanes) {
    if (row >= call.Value<uint32_t>(5)) return;
    float lane_sum[32] = {};
    for (uint32_t e = offsets[row]; e < offsets[row + 1]; ++e) {
      float& sum = lane_sum[(e - offsets[row]) % lanes];
      sum = std::fma(values[e], x[columns[e]], sum);
    }
    for (uint32_t offset = 16; offset > 0; offset /= 2)
      for (uint32_t lane = 0; lane + offset < lanes; ++lane) lane_sum[lane] += lane_sum[lane + offset];
    call.Out<float>(4)[row] = lane_sum[0];
  });
}

void Stencil1d(Call& call) {
  const auto in = call.In<float>(0);
  const int n = call.Value<int32_t>(2);
  for (int i = 0; i < n; ++i) {
    float sum = 0;
    for (int d = -3; d <= 3; ++d) {
      const float weight = static_cast<float>(d + 4) / 8;
      sum = std::fma(weight, i + d >= 0 && i + d < n ? in[i + d] : 0.0f, sum);
    }
    call.Out<float>(1)[i] = sum;
  }
}

void Heat2d(Call& call) {
  const auto in = call.In<float>(0);
  const int width = call.Value<int32_t>(2), height = call.Value<int32_t>(3);
  const float rate = call.Value<float>(4);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int i = y * width + x;
      float result = in[i];
      if (x > 0 && y > 0 && x < width - 1 && y < height - 1) {
        const float sides = in[i - 1] + in[i + 1], ends = in[i - width] + in[i + width];
        const float around = sides + ends;
        result = std::fma(rate, std::fma(-4.0f, in[i], around), in[i]);
      }
      call.Out<float>(1)[i] = result;
    }
  }
}

}  // namespace

void AddLinearReferences(References& references) {
  references["vector_add"] = VectorAdd;
  references["saxpy"] = Saxpy;
  references["saxpy_grid_stride"] = Saxpy;
  references["dot_product"] = DotProduct;
  references["spmv_csr_thread"] = SpmvThread;
  references["spmv_csr_warp"] = SpmvWarp;
  references["stencil_1d"] = Stencil1d;
  references["heat_2d"] = Heat2d;
}

}  // namespace corpus

// References of cooperative groups, block scans, summed-area tables and the other kernels of COX Table 1.
#include <algorithm>
#include <cmath>

#include "reference.h"

namespace corpus {
namespace {

// -- dot products and filters --

void DotWarpTiles(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(3); ++i) {
    call.Out<double>(2)[0] += static_cast<double>(call.In<int32_t>(0)[i]) * call.In<int32_t>(1)[i];
  }
}

void DotNestedTiles(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(4); ++i) {
    const double product = static_cast<double>(call.In<int32_t>(0)[i]) * call.In<int32_t>(1)[i];
    call.Out<double>(2)[i / 4] += product;
    call.Out<double>(3)[0] += product;
  }
}

void FilterCoalesced(Call& call) {
  std::vector<int32_t> kept;
  for (uint32_t i = 0; i < call.Value<uint32_t>(3); ++i) {
    const int32_t value = call.In<int32_t>(0)[i];
    if (value > call.Value<int32_t>(4)) kept.push_back(value);
  }
  std::sort(kept.begin(), kept.end());
  std::copy(kept.begin(), kept.end(), call.Out<int32_t>(1).begin());
  call.Out<uint32_t>(2)[0] = static_cast<uint32_t>(kept.size());
}

void CountLabelled(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(2); ++i) {
    ++call.Out<uint32_t>(1)[call.In<uint32_t>(0)[i] % call.Value<uint32_t>(3)];
  }
}

void SumsByClass(Call& call) {
  const auto sums = call.Out<int32_t>(1);
  for (uint32_t i = 0; i < call.Value<uint32_t>(2); ++i) {
    const int32_t value = call.In<int32_t>(0)[i];
    if (value % 2 == 0)
      sums[value % 3 == 0 ? 0 : 1] += value;
    else if (value > 50)
      sums[2] += value % 3 == 0;
    else
      ++sums[3];
  }
}

// -- reductions --

// Each block sums its pieces of `per_thread * block` elements: one of them, or every gridDim-th.
Reference BlockSums(uint32_t per_thread, bool many) {
  return [=](Call& call) {
    const uint32_t piece = per_thread * call.block[0];
    for (uint32_t i = 0; i < call.Value<uint32_t>(2); ++i) {
      const uint32_t block = i / piece;
      if (!many && block >= call.grid[0]) return;
      call.Out<uint32_t>(1)[block % call.grid[0]] += call.In<uint32_t>(0)[i];
    }
  };
}

void ReduceLibrary(Call& call) {
  for (uint32_t i = 0; i < std::min(call.Threads(), call.Value<uint32_t>(2)); ++i) {
    const uint32_t value = call.In<uint32_t>(0)[i];
    uint32_t* const result = &call.Out<uint32_t>(1)[i / 32 * 3];
    result[0] += value;
    result[1] = std::max(result[1], value);
    result[2] ^= value;
  }
}

void PartialSums(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(2); ++i) {
    call.Out<double>(1)[i / call.block[0] % call.grid[0]] += call.In<int32_t>(0)[i];
  }
}

template <typename T>
void TotalInDouble(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(2); ++i) {
    call.Out<double>(1)[0] += static_cast<double>(call.In<T>(0)[i]);
  }
}

// -- scans and tables --

void ShuffleScan(Call& call) {
  const auto data = call.Out<uint32_t>(0);
  for (uint32_t b = 0; b < call.grid[0]; ++b) {
    uint32_t sum = 0;
    for (uint32_t t = 0; t < call.block[0]; ++t)
      data[b * call.block[0] + t] = sum += data[b * call.block[0] + t];
    call.Out<uint32_t>(1)[b] = sum;
  }
}

void UniformAdd(Call& call) {
  for (uint32_t i = call.block[0]; i < std::min(call.Threads(), call.Value<uint32_t>(2)); ++i) {
    call.Out<uint32_t>(0)[i] += call.In<uint32_t>(1)[i / call.block[0] - 1];
  }
}

void SatRows(Call& call) {
  const uint32_t width = call.Value<uint32_t>(2);
  for (uint32_t row = 0; row < call.grid[0]; ++row) {
    uint32_t sum = 0;
    for (uint32_t i = row * width; i < (row + 1) * width; ++i) {
      sum += call.In<uint8_t>(0)[i];
      call.Out<uint32_t>(1)[i] = sum;
    }
  }
}

void SatColumns(Call& call) {
  const uint32_t width = call.Value<uint32_t>(1), height = call.Value<uint32_t>(2);
  for (uint32_t i = width; i < width * height; ++i)
    call.Out<uint32_t>(0)[i] += call.Out<uint32_t>(0)[i - width];
}

// -- the plain ones --

void InitVectors(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(3); ++i) {
    call.Out<double>(1)[i] = call.In<double>(0)[i];
    call.Out<double>(2)[i] = 0;
  }
}

void ScalarQuotient(Call& call) { call.Out<double>(2)[0] = call.Value<double>(0) / call.Value<double>(1); }
void ScalarNegate(Call& call) { call.Out<double>(1)[0] = -call.Value<double>(0); }

void CopyBetween(Call& call) {
  std::copy_n(call.In<uint32_t>(0).begin(), call.Value<uint32_t>(2), call.Out<uint32_t>(1).begin());
}

void ScaleInPlace(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(2); ++i) call.Out<float>(0)[i] *= call.Value<float>(1);
}

void MatmulPlain(Call& call) {
  const uint32_t n = call.Value<uint32_t>(3);
  for (uint32_t i = 0; i < n * n; ++i) {
    float sum = 0;
    for (uint32_t k = 0; k < n; ++k)
      sum = std::fma(call.In<float>(0)[i / n * n + k], call.In<float>(1)[k * n + i % n], sum);
    call.Out<float>(2)[i] = sum;
  }
}

}  // namespace

void AddGroupReferences(References& references) {
  references["dot_warp_tiles"] = DotWarpTiles;
  references["dot_nested_tiles"] = DotNestedTiles;
  references["filter_coalesced"] = FilterCoalesced;
  references["count_labelled"] = CountLabelled;
  references["sums_by_class"] = SumsByClass;
  references["group_reduce_modulo"] = BlockSums(1, false);
  references["group_reduce_strided"] = BlockSums(1, false);
  references["group_reduce_sequential"] = BlockSums(1, false);
  references["group_reduce_first_add"] = BlockSums(2, false);
  references["group_reduce_tile_tail"] = BlockSums(2, false);
  references["group_reduce_unrolled"] = BlockSums(2, false);
  references["group_reduce_many"] = BlockSums(2, true);
  references["group_reduce_library"] = ReduceLibrary;
  references["reduce_partial_sums"] = PartialSums;
  references["reduce_final_sum"] = TotalInDouble<double>;
  references["group_reduce_last_block"] = TotalInDouble<int32_t>;
  references["shuffle_scan"] = ShuffleScan;
  references["uniform_add"] = UniformAdd;
  references["sat_rows"] = SatRows;
  references["sat_columns"] = SatColumns;
  references["init_vectors"] = InitVectors;
  references["scalar_quotient"] = ScalarQuotient;
  references["scalar_negate"] = ScalarNegate;
  references["copy_between"] = CopyBetween;
  references["matmul_plain"] = MatmulPlain;
  references["scale_in_place"] = ScaleInPlace;
}

}  // namespace corpus

// Kernels with warp operations.
#include <utility>

#include "tools/bench/versions/load.h"

namespace ptx2cpu::bench {

Result<Subject> WarpArgmax(const std::string& directory) {
  constexpr uint32_t kCount = 30'000;
  const Kernel kernel = TRY(Load(directory, "warp_exchange.fatbin", "warp_argmax"));
  auto in = Data<int32_t>(kCount), values = Data<int32_t>(kCount);
  auto indices = Data<uint32_t>(kCount);
  return Subject{.name = "warp_argmax", .launch = [=] {
                   return kernel.Launch({.grid = {(kCount + 255) / 256}, .block = {256}, .max_workers = 1},
                                        in->data(), values->data(), indices->data(), kCount);
                 }};
}

Result<Subject> RadixSort(const std::string& directory) {
  constexpr uint32_t kBlocks = 16, kThreads = 256, kCount = kBlocks * kThreads;
  const Kernel kernel = TRY(Load(directory, "radix_sort.fatbin", "radix_sort_block"));
  auto keys = Data<uint32_t>(kCount), payload = Data<uint32_t>(kCount);
  return Subject{
      .name = "radix_sort_block", .launch = [=] {
        return kernel.Launch(
            {.grid = {kBlocks}, .block = {kThreads}, .shared_bytes = 8 * kThreads, .max_workers = 1},
            keys->data(), payload->data(), kCount);
      }};
}

Result<Subject> Compaction(const std::string& directory) {
  constexpr uint32_t kBlocks = 100, kThreads = 256, kCount = kBlocks * kThreads;
  const Kernel kernel = TRY(Load(directory, "compaction.fatbin", "compact_ballot"));
  auto in = Data<int32_t>(kCount), out = Data<int32_t>(kCount);
  for (int32_t& value : *in) value -= 128;
  auto counts = Data<uint32_t>(kBlocks);
  return Subject{.name = "compact_ballot", .launch = [=] {
                   return kernel.Launch({.grid = {kBlocks}, .block = {kThreads}, .max_workers = 1},
                                        in->data(), out->data(), counts->data(), kCount);
                 }};
}

// A warp for each row; rows of 0 to 255 elements.
Result<Subject> SparseRows(const std::string& directory) {
  constexpr uint32_t kRows = 1000, kThreads = 128;
  const Kernel kernel = TRY(Load(directory, "spmv.fatbin", "spmv_csr_warp"));
  auto offsets = Data<uint32_t>(kRows + 1);
  uint32_t end = 0;
  for (uint32_t& offset : *offsets) end += std::exchange(offset, end);
  auto columns = Data<uint32_t>(end);
  auto values = Data<float>(end), x = Data<float>(256), y = Data<float>(kRows);
  return Subject{.name = "spmv_csr_warp", .launch = [=] {
                   return kernel.Launch(
                       {.grid = {kRows / (kThreads / 32)}, .block = {kThreads}, .max_workers = 1},
                       offsets->data(), columns->data(), values->data(), x->data(), y->data(), kRows);
                 }};
}

}  // namespace ptx2cpu::bench

/* Launches a block function written by hand, as generated code would be: adds ctaid.x to every element of its
 * block. */
#include <stdio.h>
#include <string.h>

#include "runtime/launch/ptx2cpu_rt.h"

static void run_block(struct ptx2cpu_block* block) {
  uint32_t* data;
  memcpy(&data, block->params, sizeof data);
  for (uint32_t t = 0; t < block->thread_count; ++t)
    data[block->ctaid[0] * block->thread_count + t] += block->ctaid[0];
}

int main(void) {
  static const struct ptx2cpu_parameter parameters[] = {{"data", 0, 8, 8}};
  const struct ptx2cpu_kernel kernel = {.abi_version = PTX2CPU_ABI_VERSION,
                                        .parameter_count = 1,
                                        .name = "add_ctaid",
                                        .run_block = run_block,
                                        .parameters = parameters,
                                        .parameter_bytes = 8};
  enum { kBlocks = 100, kThreads = 33 };
  static uint32_t data[kBlocks * kThreads];
  uint32_t* params = data;
  const uint32_t grid[3] = {kBlocks, 1, 1}, block[3] = {kThreads, 1, 1}, too_large[3] = {2000, 1, 1};
  if (ptx2cpu_launch(&kernel, grid, block, 0, &params) != 0) return puts(ptx2cpu_message()), 1;
  for (uint32_t i = 0; i < kBlocks * kThreads; ++i) {
    if (data[i] != i / kThreads) return printf("element %u is %u\n", i, data[i]), 1;
  }
  if (ptx2cpu_launch(&kernel, grid, too_large, 0, &params) != 9 || ptx2cpu_message()[0] == 0)
    return puts("a block of 2000 threads was taken"), 1;
  return 0;
}

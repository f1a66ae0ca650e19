/* A scheduler for blocks of resumable kernels that fits into a program without a C library: membermask
 * collectives and barriers with a count, which is what the kernels of the test wait for. Plain C. */
#ifndef FREESTANDING_STEPS_H
#define FREESTANDING_STEPS_H

#include "runtime/abi/abi.h"

enum { kReady, kWaiting, kCounted, kExited };
static uint8_t states[1024];
static uint32_t points[1024], words[PTX2CPU_WORDS_PER_THREAD * PTX2CPU_MAX_THREADS_PER_BLOCK];
static uint32_t arrived[16];

static uint32_t LanesIn(uint32_t warp, int state) {
  uint32_t lanes = 0;
  for (uint32_t lane = 0; lane < 32; ++lane) lanes |= (uint32_t)(states[32 * warp + lane] == state) << lane;
  return lanes;
}

static void RunStep(const struct ptx2cpu_kernel* kernel, struct ptx2cpu_block* block, uint32_t warp,
                    uint32_t lanes, uint32_t entry) {
  block->live[warp] = lanes;
  kernel->run_step(block, warp, entry);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const uint32_t thread = 32 * warp + lane, kind = kernel->points[points[thread]].kind;
    const int goes_on = entry != PTX2CPU_ENTRY_RESUME || kind == PTX2CPU_POINT_YIELD;
    states[thread] = (block->live[warp] >> lane & 1) == 0 ? kExited : goes_on ? kReady : kWaiting;
  }
}

/* The first collective of the warp whose members all wait at it. */
static int RunCollective(const struct ptx2cpu_kernel* kernel, struct ptx2cpu_block* block, uint32_t warp) {
  const uint32_t waiting = LanesIn(warp, kWaiting), alive = ~LanesIn(warp, kExited);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t thread = 32 * warp + lane;
    const struct ptx2cpu_point* point = &kernel->points[points[thread]];
    if ((waiting >> lane & 1) == 0 || point->kind != PTX2CPU_POINT_COLLECTIVE) continue;
    uint32_t members = words[thread] & alive, missing = members & ~waiting;
    for (uint32_t other = 0; other < 32; ++other) {
      const struct ptx2cpu_point* place = &kernel->points[points[32 * warp + other]];
      if (place->kind != point->kind || place->collective != point->collective)
        missing |= members & 1u << other;
    }
    if (missing != 0) continue;
    RunStep(kernel, block, warp, members, PTX2CPU_ENTRY_COLLECTIVE + point->collective);
    return 1;
  }
  return 0;
}

/* Counts the warp when all its lanes wait at a barrier; resumes the warps that wait at a full one. */
static void RunBarriers(const struct ptx2cpu_kernel* kernel, struct ptx2cpu_block* block, uint32_t warp) {
  const uint32_t waiting = LanesIn(warp, kWaiting);
  if (waiting == 0 || waiting != ~LanesIn(warp, kExited)) return;
  const uint32_t first = 32 * warp + (uint32_t)__builtin_ctz(waiting), id = words[first];
  const uint32_t expected = words[PTX2CPU_MAX_THREADS_PER_BLOCK + first];
  uint32_t holding = 0;
  arrived[id] += 32;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    if ((waiting >> lane & 1) == 0) continue;
    const uint32_t kind = kernel->points[points[32 * warp + lane]].kind;
    states[32 * warp + lane] = kind == PTX2CPU_POINT_BARRIER_ARRIVE ? kReady : kCounted;
  }
  if (arrived[id] < (expected == 0 ? block->thread_count : expected)) return;
  arrived[id] = 0;
  for (uint32_t thread = 0; thread < block->thread_count; ++thread) {
    holding += states[thread] == kCounted && words[thread] == id &&
               words[2 * PTX2CPU_MAX_THREADS_PER_BLOCK + thread] != 0;
  }
  for (uint32_t thread = 0; thread < block->thread_count; ++thread) {
    if (states[thread] != kCounted || words[thread] != id) continue;
    if (kernel->points[points[thread]].kind == PTX2CPU_POINT_RED_POPC) words[thread] = holding;
    states[thread] = kReady;
  }
}

static void RunSteps(const struct ptx2cpu_kernel* kernel, struct ptx2cpu_block* block) {
  block->points = points;
  block->words = words;
  for (uint32_t thread = 0; thread < block->thread_count; ++thread) {
    points[thread] = 0;
    states[thread] = kReady;
  }
  for (uint32_t alive = 1; alive != 0;) {
    alive = 0;
    for (uint32_t warp = 0; warp < block->warp_count; ++warp) {
      const uint32_t ready = LanesIn(warp, kReady);
      if (ready != 0) RunStep(kernel, block, warp, ready, PTX2CPU_ENTRY_RESUME);
      while (RunCollective(kernel, block, warp)) {
      }
      RunBarriers(kernel, block, warp);
      alive |= ~LanesIn(warp, kExited);
    }
  }
}

#endif

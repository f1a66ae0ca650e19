#include "analysis/values/thread_shape.h"

#include <algorithm>

namespace ptx2cpu::analysis {

using Along = ThreadGroup::Along;

std::string_view Name(Uniformity uniformity) {
  constexpr std::string_view kNames[] = {"unknown", "grid-uniform", "block-uniform", "warp-uniform",
                                         "affine",  "strided",      "varying"};
  return kNames[static_cast<size_t>(uniformity)];
}

LaunchShape PromisedShape(const ir::Function& f) {
  if (f.required_threads[0] == 0) return {};
  return {f.required_threads[0], std::max(f.required_threads[1], 1u), std::max(f.required_threads[2], 1u)};
}

bool IsColumn(const LaunchShape& launch) {
  constexpr uint32_t kMaxLanes = 64;  // of a group: two warps'
  return launch.x == 1 && launch.y > 1 && (launch.z == 1 || launch.y % kMaxLanes == 0);
}

bool FillsWarps(const LaunchShape& launch) {
  return launch.x != 0 && launch.y != 0 && launch.z != 0 && launch.x * launch.y * launch.z % 32 == 0;
}

ThreadGroup ThreadGroup::WarpOf(const LaunchShape& launch) {
  ThreadGroup group;
  auto of = [](uint32_t extent, bool whole) {
    return extent == 1 ? Along::kOne : whole ? Along::kSame : Along::kAny;
  };
  if (IsColumn(launch)) {
    group.along = {Along::kOne, Along::kConsecutive, of(launch.z, true), Along::kConsecutive};
    return group;
  }
  // Lanes are consecutive in x when y and z are 1 or x is a multiple of the warp size.
  const bool whole_rows = launch.x != 0 && launch.x % 32 == 0;
  const bool one_row = launch.y == 1 && launch.z == 1;
  const bool whole_planes = whole_rows || (launch.x && launch.y && launch.x * launch.y % 32 == 0);
  group.along[kAxisX] = whole_rows || one_row ? Along::kConsecutive : Along::kAny;
  group.along[kAxisY] = of(launch.y, whole_rows);
  group.along[kAxisZ] = of(launch.z, whole_planes);
  return group;
}

ThreadShape Seen(ThreadShape shape, const ThreadGroup& group) {
  shape.kind = shape.base;
  shape.stride = 0;
  if (shape.base == Uniformity::kUnknown) return shape;
  if (shape.base == Uniformity::kVarying) return kVaryingShape;
  // Along the lanes of a warp tid.x is the lane and something uniform: two names for one sequence.
  int32_t &x = shape.axes[kAxisX], &lane = shape.axes[kAxisLane];
  if (lane != 0 && group.along[kAxisX] == Along::kConsecutive &&
      group.along[kAxisLane] == Along::kConsecutive) {
    const int64_t both = int64_t{x} + lane;
    const bool known = x != ThreadShape::kRunTime && lane != ThreadShape::kRunTime;
    x = known && both == static_cast<int32_t>(both) ? static_cast<int32_t>(both) : ThreadShape::kRunTime;
    lane = 0;
    shape.base = std::max(shape.base, Uniformity::kWarp);
    shape.kind = shape.base;
  }
  bool run_time = false;
  for (int axis = 0; axis < kAxes; ++axis) {
    const int32_t stride = shape.axes[axis];
    if (stride == 0 || group.along[axis] == Along::kOne) continue;
    shape.kind = std::max(shape.kind, Uniformity::kWarp);
    if (group.along[axis] == Along::kSame) continue;
    if (group.along[axis] == Along::kAny || !group.forms) {
      shape.kind = Uniformity::kVarying;
      shape.stride = 0;
      return shape;
    }
    run_time |= stride == ThreadShape::kRunTime;
    shape.stride += stride;
  }
  if (run_time) shape.stride = 0;
  if (run_time || shape.stride != 0) shape.kind = run_time ? Uniformity::kStrided : Uniformity::kAffine;
  if (shape.guess && !group.guesses) return kVaryingShape;
  // A value that is uniform by a guess is not known to be: it is a sequence with stride 0, which is tested
  // like others.
  if (shape.guess && shape.uniform()) shape.kind = Uniformity::kAffine;
  return shape;
}

ThreadShape Folded(ThreadShape shape, const ThreadGroup& group) {
  for (int axis = 0; axis < kAxes; ++axis) {
    if (shape.axes[axis] == 0) continue;
    if (group.along[axis] == Along::kSame) shape.base = std::max(shape.base, Uniformity::kWarp);
    if (group.along[axis] == Along::kSame || group.along[axis] == Along::kOne) shape.axes[axis] = 0;
  }
  return shape;
}

ThreadShape Join(const ThreadShape& a, const ThreadShape& b, const ThreadGroup& group) {
  if (a.base == Uniformity::kUnknown || a == b) return b;
  if (b.base == Uniformity::kUnknown) return a;
  ThreadShape both = a;
  both.base = std::max(a.base, b.base);
  both.align = std::min(a.align, b.align);
  both.guess = a.guess || b.guess;
  for (int axis = 0; axis < kAxes; ++axis) {
    if (a.axes[axis] != b.axes[axis]) both.axes[axis] = ThreadShape::kRunTime;
  }
  return Seen(both, group);
}

ThreadShape Blend(ThreadShape shape, Uniformity apart, const ThreadGroup& group) {
  if (shape.base == Uniformity::kUnknown || apart <= Uniformity::kGrid) return shape;
  if (apart > Uniformity::kWarp) return kVaryingShape;
  shape.base = std::max(shape.base, apart);
  return Seen(shape, group);
}

}  // namespace ptx2cpu::analysis

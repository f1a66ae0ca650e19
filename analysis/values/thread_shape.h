// How a value differs between the threads of a group: the one lattice that passes, drawings and emission
// read.
//
//   value = base + x * tid.x + y * tid.y + z * tid.z + l * laneid      modulo the type's width
//
// where the base is the same in all threads of the grid, of the block or of the warp, and each stride is a
// number or is known at run time only (it is uniform then where the base is). What that means from lane to
// lane depends on the group in question: in a block of 8x8 threads tid.x is not a sequence along the
// lanes, in one of 64x1 it is.
#pragma once

#include <array>
#include <string_view>

#include "ir/function.h"

namespace ptx2cpu::analysis {

// Each is less known than the one before it.
enum class Uniformity : uint8_t {
  kUnknown,  // nothing reaches it yet
  kGrid,     // the same in all threads of the grid
  kBlock,    // ... of the block
  kWarp,     // ... of the warp, or in all lanes of the group
  kAffine,   // first lane's value + stride * lane
  kStrided,  // the same with a stride that is uniform but not known
  kVarying,
};
std::string_view Name(Uniformity uniformity);

enum Axis : uint8_t { kAxisX, kAxisY, kAxisZ, kAxisLane, kAxes };

struct ThreadShape {
  using Kind = Uniformity;
  static constexpr int32_t kRunTime = INT32_MIN;  // a stride that is known at run time only
  static constexpr uint8_t kMaxAlign = 8;         // of the first thread of the widest group

  Kind kind = Kind::kUnknown;  // from lane to lane of the group
  Kind base = Kind::kUnknown;  // kGrid, kBlock, kWarp; kVarying: no such form, and the kind is kVarying too
  uint8_t align = 0;           // log2 of a power of two that divides the first lane's value
  bool guess = false;          // the strides hold on a condition that the emitter tests: see README.md
  int64_t stride = 0;          // kAffine: from lane to lane
  std::array<int32_t, kAxes> axes{};

  bool uniform() const { return kind <= Kind::kWarp; }
  bool affine() const { return kind == Kind::kAffine; }
  bool varying() const { return kind > Kind::kAffine; }  // needs one value for each lane
  bool has_axes() const { return axes != std::array<int32_t, kAxes>{}; }
  friend bool operator==(const ThreadShape&, const ThreadShape&) = default;
};

inline constexpr ThreadShape kVaryingShape{.kind = Uniformity::kVarying, .base = Uniformity::kVarying};
constexpr ThreadShape Uniform(Uniformity in, uint8_t align = 0) {
  return {.kind = in, .base = in, .align = align};
}

// What .reqntid promises, or a launch: extents of a block.
struct LaunchShape {
  uint32_t x = 0, y = 0, z = 0;  // 0: not known
};
// (.maxntid bounds the product of the extents only: 256,1,1 allows blocks of 16x16.)
LaunchShape PromisedShape(const ir::Function& f);

// Whether no warp of a block in this shape lacks a lane.
bool FillsWarps(const LaunchShape& launch);

// Whether the lanes of each warp are consecutive in y: rows of one thread.
bool IsColumn(const LaunchShape& launch);

// The lanes between which values are compared, and what the reader can do with them.
struct ThreadGroup {
  enum class Along : uint8_t {
    kOne,          // the coordinate is the same in all threads of the block
    kSame,         // ... in all lanes
    kConsecutive,  // one more from lane to lane; the first lane's is a multiple of the number of lanes
    kAny,
  };
  std::array<Along, kAxes> along{Along::kAny, Along::kAny, Along::kAny, Along::kConsecutive};
  uint8_t low_bits = 5;          // log2 of the number of lanes
  bool is_warp = true;           // its lanes are one warp's
  bool begins_anywhere = false;  // kConsecutive: the first lane's is any number
  bool at_once = false;         // an instruction is executed for all lanes at the same time, as emission does
  bool forms = true;            // sequences are of use; else what is not uniform varies
  bool guesses = false;         // the reader of the shapes tests what ThreadShape::guess assumes
  bool private_shared = false;  // HasPrivateShared

  // A warp of any block that is launched in this shape.
  static ThreadGroup WarpOf(const LaunchShape& launch);
};

// Fills kind and stride from the base and the strides.
ThreadShape Seen(ThreadShape shape, const ThreadGroup& group);
// The strides of coordinates that do not change along the group's lanes go to the base.
ThreadShape Folded(ThreadShape shape, const ThreadGroup& group);
// The shape of one of two values, chosen in the same way for all threads that share the base.
ThreadShape Join(const ThreadShape& a, const ThreadShape& b, const ThreadGroup& group);
// The shape of a value where several groups of lanes meet; `apart`: how the branch at which they diverged
// differs.
ThreadShape Blend(ThreadShape shape, Uniformity apart, const ThreadGroup& group);

}  // namespace ptx2cpu::analysis

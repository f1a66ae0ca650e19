// Special registers and their properties, read from special_registers.def.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/type.h"

namespace ptx2cpu::ir {

enum class Special : uint8_t {
  kNone,
#define SPECIAL(name, word, type, varies, count, meaning) k##name,
#include "ir/special_registers.def"
#undef SPECIAL
};

// How a special register differs between the threads of a launch.
enum class Varies : uint8_t {
  kUniformInGrid,   // the same in all threads
  kUniformInBlock,  // the same in all threads of a block
  kUniformInWarp,   // the same in all lanes of a warp
  kAffineInTid,     // the thread's own coordinate: x, y or z as the name has it
  kAffineInLane,    // the lane's number
  kVarying,         // of the lane, but no sequence
  kTime,            // another value at each read, also in one thread: the read is volatile
};

struct SpecialInfo {
  std::string_view word;    // "tid.x"
  Type type = Type::kVoid;  // of the value
  Varies varies = Varies::kUniformInGrid;
  uint32_t count = 0;  // registers of this name; 0: one, without a number
  std::string_view meaning;
};
const SpecialInfo& Info(Special special);  // other than kNone
std::string_view Name(Special special);
template <>
inline constexpr int kCountOf<Special> = 1
#define SPECIAL(name, word, type, varies, count, meaning) +1
#include "ir/special_registers.def"
#undef SPECIAL
    ;

}  // namespace ptx2cpu::ir

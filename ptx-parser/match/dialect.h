// What the .version and .target of a module change in the meaning of its instructions. All of these rules
// that concern instructions are here and in the conditions of instructions.def; rules for declarations are in
// parse/.
//
// PTX is read as the driver of a device with compute capability 9 compiles it, not as the old device ran it.
// So
//   mad.f32 of sm_1x targets is fused (a GPU of that time truncated the product), as the manual defines it
//   for later devices; map_f64_to_f32 changes nothing: the device has doubles; instructions newer than the
//   .version are not refused: they have their later meaning.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptx-parser/parse/ast.h"

namespace ptx2cpu::ptx {

struct Form;
struct Modifiers;

struct Dialect {
  uint32_t version = UINT32_MAX;  // major * 100 + minor
  uint32_t sm = UINT32_MAX;

  static Dialect Of(const ast::Module& module);
  static Dialect Newest() { return {}; }
  std::string Text() const;  // "PTX 1.4 for sm_10"

  // Adds what the form implies without being written: the words after its `=>`, and .ftz where the target
  // has no f32 subnormals.
  void Complete(const Form& form, Modifiers& modifiers) const;
};

// [isa<3.2], [sm>=20] of a form: a range of versions or of targets.
struct DialectCondition {
  bool is_version = false;  // else of the target
  bool below = false;       // below the limit, else from it on
  uint32_t limit = 0;

  // "isa<3.2"
  static DialectCondition Read(std::string_view text);
  bool Holds(const Dialect& dialect) const;
  std::string Text() const;  // "before PTX 3.2", "for targets below sm_20"
};

bool AllHold(const std::vector<DialectCondition>& conditions, const Dialect& dialect);

}  // namespace ptx2cpu::ptx

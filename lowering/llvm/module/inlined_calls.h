// Which functions of the source the compiler of the PTX inlined where: from the lines
// `.loc FILE LINE COLUMN, function_name LABEL, inlined_at FILE LINE COLUMN` of the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ptx2cpu::lowering {

class InlinedCalls {
 public:
  struct Call {
    std::string function;         // which was inlined, as in the source: without its parameters
    uint32_t file = 0, line = 0;  // where it was called
    uint32_t caller = 0;          // the call, by its number, that inlined what called it; 0: nothing did
  };

  // Reads one PTX text. Lines that cannot be read are left out: these are names for debuggers.
  static InlinedCalls Read(std::string_view text);

  // The number of the innermost call that inlined the instruction in this line of the text; 0: none.
  uint32_t At(uint32_t ptx_line) const;
  const Call& operator[](uint32_t number) const { return calls_[number - 1]; }

 private:
  std::vector<Call> calls_;
  std::vector<std::pair<uint32_t, uint32_t>> from_;  // from this line on this number
};

}  // namespace ptx2cpu::lowering

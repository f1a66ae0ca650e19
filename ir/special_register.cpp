#include "ir/special_register.h"

namespace ptx2cpu::ir {

namespace {
constexpr SpecialInfo kTable[] = {
    {"none", Type::kVoid, Varies::kUniformInGrid, 0, ""},
#define SPECIAL(name, word, type, varies, count, meaning) {word, Type::type, Varies::varies, count, meaning},
#include "ir/special_registers.def"
#undef SPECIAL
};
}  // namespace

const SpecialInfo& Info(Special special) { return kTable[static_cast<size_t>(special)]; }
std::string_view Name(Special special) { return Info(special).word; }

}  // namespace ptx2cpu::ir

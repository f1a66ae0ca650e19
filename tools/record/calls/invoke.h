// Calls of functions by address, as the ABI of x86-64 passes what C functions take and return.
#pragma once

#include <cstdint>
#include <string>

namespace ptx2cpu::calls {

inline constexpr int kMaxWords = 32, kMaxDoubles = 4;
// The words and the doubles of a call, each kind in its order: where they lie does not depend on the order of
// both.
struct CallArguments {
  int64_t words[kMaxWords] = {};
  double doubles[kMaxDoubles] = {};
};

// What a statement's verb records: `call` the lower half of a word, `wide` a word, `text` the string there,
// `void` nothing, `float`, `double`, `floats`, `doubles` one number or two, as a record writes elements.
std::string AnswerOf(const std::string& verb, void* function, const CallArguments& arguments);
bool IsCallVerb(const std::string& verb);

// A float, or two of them, as they lie in a register of doubles.
double FloatsInRegister(float first, float second = 0);

// A function that returns a status, whose C++ type is of a header that is not here.
template <typename... Args>
__attribute__((no_sanitize("function"))) int Status(void* function, Args... arguments) {
  return reinterpret_cast<int (*)(Args...)>(function)(arguments...);
}

}  // namespace ptx2cpu::calls

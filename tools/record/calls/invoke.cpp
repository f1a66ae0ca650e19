#include "tools/record/calls/invoke.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "tools/record/calls/elements.h"

namespace ptx2cpu::calls {

namespace {

struct TwoDoubles {
  double first, second;
};

template <typename Result>
__attribute__((no_sanitize("function"))) Result Invoke(void* function, const CallArguments& arguments) {
  using Function =
      Result (*)(double, double, double, double, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                 int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                 int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                 int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);
  const auto& d = arguments.doubles;
  const auto& w = arguments.words;
  return reinterpret_cast<Function>(function)(d[0], d[1], d[2], d[3], w[0], w[1], w[2], w[3], w[4], w[5],
                                              w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13], w[14],
                                              w[15], w[16], w[17], w[18], w[19], w[20], w[21], w[22], w[23],
                                              w[24], w[25], w[26], w[27], w[28], w[29], w[30], w[31]);
}

// Two floats fill one register, two doubles two.
std::string NumbersOf(const std::string& verb, const TwoDoubles& result) {
  const ElementType& type = *FindElementType(verb.starts_with("float") ? "S" : "D");
  std::array<std::byte, sizeof result> bytes;
  std::memcpy(bytes.data(), &result, sizeof result);
  std::string text = ComponentText(type, bytes.data());
  if (verb.ends_with("s")) text += "," + ComponentText(type, &bytes[type.bytes]);
  return text;
}

}  // namespace

bool IsCallVerb(const std::string& verb) {
  constexpr std::string_view kVerbs[] = {"call",  "wide",   "text",   "void",
                                         "float", "double", "floats", "doubles"};
  return std::ranges::find(kVerbs, verb) != std::end(kVerbs);
}

double FloatsInRegister(float first, float second) {
  const float both[] = {first, second};
  double word;
  std::memcpy(&word, both, sizeof word);
  return word;
}

std::string AnswerOf(const std::string& verb, void* function, const CallArguments& arguments) {
  if (verb.starts_with("float") || verb.starts_with("double"))
    return NumbersOf(verb, Invoke<TwoDoubles>(function, arguments));
  const auto result = Invoke<int64_t>(function, arguments);
  if (verb == "call") return std::to_string(static_cast<int32_t>(result));
  if (verb == "wide") return std::to_string(result);
  if (verb == "text") return reinterpret_cast<const char*>(result);
  return "void";
}

}  // namespace ptx2cpu::calls

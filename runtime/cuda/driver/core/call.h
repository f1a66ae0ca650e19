// The code around the implementation of every exported API function: it traces the call and lets no exception
// pass the C boundary. The functions themselves are generated from the API tables (tools/api_table).
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include "ir/internal_error.h"
#include "runtime/cuda/driver/core/trace.h"
#include "runtime/worker/failure.h"

namespace ptx2cpu::api {

struct FunctionInfo {
  const char* name;
  const char* parameters;  // names, separated by ", "
};

// While an object of this class exists, the null stream of this thread is its own default stream (_ptsz and
// _ptds functions).
class PerThreadDefaultStream {
 public:
  PerThreadDefaultStream() : before_(active_) { active_ = true; }
  ~PerThreadDefaultStream() { active_ = before_; }
  PerThreadDefaultStream(const PerThreadDefaultStream&) = delete;
  PerThreadDefaultStream& operator=(const PerThreadDefaultStream&) = delete;
  static bool Active() { return active_; }

 private:
  const bool before_;
  static thread_local bool active_;
};

// The exports.h of each library defines these for its result type: the name of a failure, the result for an
// exception, and further actions on a result.
template <typename R>
struct ResultTraits {
  static std::string Text(const R&) { return {}; }
  static R Of(rt::Failure::Kind) { return R{}; }
  static void Note(const R&) {}
};

namespace internal {

// The result for the exception that is being handled; reports the failure of the call on stderr, except for
// missing memory.
rt::Failure::Kind Caught(const char* call);

template <typename T>
void AppendArgument(ArgumentText& text, const T& value) {
  if constexpr (std::is_same_v<T, const char*>) {
    text.String(value);
  } else if constexpr (std::is_pointer_v<T>) {
    text.Pointer(reinterpret_cast<const void*>(value));
  } else if constexpr (std::is_enum_v<T>) {
    text.Integer(static_cast<int64_t>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    text.Real(static_cast<double>(value));
  } else if constexpr (std::is_integral_v<T>) {
    text.Integer(static_cast<int64_t>(value));
  } else {
    text.Object(sizeof(T));
  }
}

template <bool kNote, typename Body>
auto Guarded(const char* name, Body& body) {
  using R = decltype(body());
  const ThrowInternalErrors throwing;
  if constexpr (std::is_void_v<R>) {
    try {
      body();
    } catch (...) {
      Caught(name);
    }
  } else {
    R result;
    try {
      result = body();
    } catch (...) {
      result = ResultTraits<R>::Of(Caught(name));
    }
    if constexpr (kNote) ResultTraits<R>::Note(result);
    return result;
  }
}

template <bool kNote, typename Body, typename... Args>
auto Traced(const FunctionInfo& info, Body& body, const Args&... args) {
  using R = decltype(body());
  ArgumentText text(info.parameters);
  (AppendArgument(text, args), ...);
  TraceScope scope(info.name, text.Take());
  if constexpr (std::is_void_v<R>) {
    Guarded<kNote>(info.name, body);
  } else {
    R result = Guarded<kNote>(info.name, body);
    scope.Result(ResultTraits<R>::Text(result));
    return result;
  }
}

}  // namespace internal

template <typename Body, typename... Args>
auto Call(const FunctionInfo& info, Body body, const Args&... args) {
  if (!TraceOn()) [[likely]]
    return internal::Guarded<true>(info.name, body);
  return internal::Traced<true>(info, body, args...);
}

// For functions whose result reports an earlier call.
template <typename Body, typename... Args>
auto Report(const FunctionInfo& info, Body body, const Args&... args) {
  if (!TraceOn()) [[likely]]
    return internal::Guarded<false>(info.name, body);
  return internal::Traced<false>(info, body, args...);
}

}  // namespace ptx2cpu::api

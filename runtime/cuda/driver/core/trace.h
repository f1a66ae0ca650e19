// The program's calls, as lines on stderr (PTX2CPU_TRACE=1) and as bars of a timeline
// (PTX2CPU_TIMELINE=FILE, see runtime/timeline/timeline.h). Costs one load of a flag where neither is wanted.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/timeline/timeline.h"

namespace ptx2cpu::api {

namespace internal {
extern std::atomic<bool> lines_on;
}

inline bool TraceOn() { return internal::lines_on.load(std::memory_order_relaxed) || rt::timeline::Wanted(); }

// "name=value, name=value" in the order of the parameters.
class ArgumentText {
 public:
  explicit ArgumentText(const char* names) : names_(names) {}
  void String(const char* value);
  void Pointer(const void* value);
  void Integer(int64_t value);
  void Real(double value);
  void Object(size_t bytes);
  std::string Take() { return std::move(text_); }

 private:
  void Name();
  std::string_view names_;
  std::string text_;
};

// One call, from here to the end of the scope; calls that it makes itself are not shown.
class TraceScope {
 public:
  TraceScope(const char* name, std::string arguments);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;
  void Result(std::string text) { result_ = std::move(text); }

 private:
  const char* name_;
  std::string arguments_, result_;
  uint64_t begin_;
  bool outermost_;
};

}  // namespace ptx2cpu::api

#include "runtime/cuda/driver/core/trace.h"

#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "runtime/cuda/driver/core/call.h"

namespace ptx2cpu::api {

thread_local bool PerThreadDefaultStream::active_ = false;

namespace {

constexpr size_t kLongestString = 60;

bool WantsLines() {
  static const bool wants = [] {
    const char* text = std::getenv("PTX2CPU_TRACE");
    return text != nullptr && *text != '\0' && std::string_view(text) != "0";
  }();
  return wants;
}

thread_local int depth = 0;

bool IsText(char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\t'; }

}  // namespace

namespace internal {

std::atomic<bool> lines_on{WantsLines()};

rt::Failure::Kind Caught(const char* call) {
  const rt::Failure failure = rt::CurrentFailure();
  if (failure.kind != rt::Failure::Kind::kMemory)
    std::fprintf(stderr, "ptx2cpu: %s: %s\n", call, failure.text.c_str());
  return failure.kind;
}

}  // namespace internal

void ArgumentText::Name() {
  if (!text_.empty()) text_ += ", ";
  const size_t end = names_.find(", ");
  text_ += names_.substr(0, end);
  text_ += '=';
  names_ = end == std::string_view::npos ? std::string_view() : names_.substr(end + 2);
}

void ArgumentText::String(const char* value) {
  size_t length = 0;
  while (value != nullptr && length < kLongestString && IsText(value[length])) ++length;
  // Some parameters of this type are addresses of code.
  if (value == nullptr || (length < kLongestString && value[length] != '\0')) return Pointer(value);
  Name();
  text_ += '"';
  for (size_t i = 0; i < length; ++i) text_ += value[i] == '\n' ? ' ' : value[i];
  text_ += value[length] == '\0' ? "\"" : "...\"";
}

void ArgumentText::Pointer(const void* value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%" PRIxPTR, reinterpret_cast<uintptr_t>(value));
  Name();
  text_ += value == nullptr ? "null" : text;
}

void ArgumentText::Integer(int64_t value) {
  Name();
  // Device pointers of the driver API are integers.
  char text[32];
  std::snprintf(text, sizeof text, value > (int64_t{1} << 40) ? "0x%" PRIx64 : "%" PRId64, value);
  text_ += text;
}

void ArgumentText::Real(double value) {
  Name();
  text_ += std::to_string(value);
}

void ArgumentText::Object(size_t bytes) {
  Name();
  text_ += "{" + std::to_string(bytes) + " bytes}";
}

TraceScope::TraceScope(const char* name, std::string arguments)
    : name_(name), arguments_(std::move(arguments)), begin_(rt::timeline::Now()), outermost_(depth++ == 0) {}

TraceScope::~TraceScope() {
  --depth;
  if (!outermost_) return;
  const uint64_t end = rt::timeline::Now();
  if (rt::timeline::Wanted()) rt::timeline::AddCall(name_, begin_, end, arguments_, result_);
  if (!WantsLines()) return;
  char text[1024];
  std::snprintf(text, sizeof text, "ptx2cpu: [%d] %s(%s)%s%s  %.1f us\n", static_cast<int>(gettid()), name_,
                arguments_.c_str(), result_.empty() ? "" : " = ", result_.c_str(),
                static_cast<double>(end - begin_) / 1e3);
  std::fputs(text, stderr);
}

}  // namespace ptx2cpu::api

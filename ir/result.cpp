#include "ir/result.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "ir/internal_error.h"

namespace ptx2cpu {

namespace {
thread_local int throwing = 0;
}

ThrowInternalErrors::ThrowInternalErrors() { ++throwing; }
ThrowInternalErrors::~ThrowInternalErrors() { --throwing; }
bool ThrowInternalErrors::Active() { return throwing != 0; }

std::string_view Name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return "usage";
    case ErrorCode::kFile:
      return "file";
    case ErrorCode::kContainer:
      return "container";
    case ErrorCode::kNoPtx:
      return "no-ptx";
    case ErrorCode::kSyntax:
      return "syntax";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kNotFound:
      return "not-found";
    case ErrorCode::kLaunch:
      return "launch";
    case ErrorCode::kFault:
      return "fault";
    case ErrorCode::kLink:
      return "link";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "unknown";
}

std::string Error::Render() const {
  std::string out;
  if (!at.file.empty()) out += at.file + ":";
  if (at.line != 0) out += fmt::format("{}:", at.line);
  if (at.line != 0 && at.column != 0) out += fmt::format("{}:", at.column);
  if (!out.empty()) out += " ";
  out += fmt::format("error: {}\n", message);
  if (!excerpt.empty()) {
    out += fmt::format("  {}\n", excerpt);
    if (at.column != 0) {
      std::string pad = excerpt.substr(0, std::min<size_t>(at.column - 1, excerpt.size()));
      for (char& c : pad) c = c == '\t' ? '\t' : ' ';
      out += fmt::format("  {}^\n", pad);
    }
  }
  if (!hint.empty()) out += fmt::format("  {}\n", hint);
  for (const Error& other : more) out += other.Render();
  return out;
}

void CheckFailed(const char* condition, const char* file, int line, const std::string& message) {
  const std::string text = fmt::format("{}:{}: {} does not hold. {}", file, line, condition, message);
  if (ThrowInternalErrors::Active()) throw InternalError(text);
  fmt::print(stderr, "ptx2cpu: internal error at {}\n", text);
  std::fflush(stderr);
  std::abort();
}

}  // namespace ptx2cpu

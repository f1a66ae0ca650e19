// Result<T>, Error and the macros TRY and CHECK: how every room reports failure.
//
// An Error is for the user: it reports what is wrong, where (file, line, column and the line itself), what
// was expected and what to do next. CHECK is for our own bugs. Exceptions never leave the file that met them.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace ptx2cpu {

// One code per class of failure; the tool's exit code is its value (see ExitCodes in the manual page).
enum class ErrorCode : uint8_t {
  kUsage = 2,        // wrong command line, argument count or size
  kFile = 3,         // cannot read or write a file
  kContainer = 4,    // truncated or corrupt fat binary
  kNoPtx = 5,        // only machine code or LTO IR, no PTX
  kSyntax = 6,       // PTX syntax error, unknown instruction, wrong operands, undefined names
  kUnsupported = 7,  // legal PTX that this version does not translate; names the construct and PTX line
  kNotFound = 8,     // no such kernel or symbol
  kLaunch = 9,       // launch shape or resources beyond limits
  kFault = 10,       // the kernel faulted: bad address, misaligned, trap, assert, divergent barrier
  kLink = 11,  // PTX modules that contradict each other, a symbol that a kernel needs and no module defines
  kInternal = 70,  // our bug
};

std::string_view Name(ErrorCode code);

// A place in a PTX text. Lines and columns count from 1; 0 means unknown.
struct SourcePosition {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // one sentence, no trailing newline
  SourcePosition at = {};
  std::string excerpt = {};      // the line of PTX itself; a caret is put under at.column
  std::string hint = {};         // what was expected, the nearest legal form, what to do next
  std::vector<Error> more = {};  // further errors of the same run

  // "file:line:column: error: message", the line, a caret, the hint; then the same for `more`.
  std::string Render() const;
};

template <typename T>
using Result = std::expected<T, Error>;
using Status = std::expected<void, Error>;

inline std::unexpected<Error> Fail(Error error) { return std::unexpected<Error>(std::move(error)); }
inline std::unexpected<Error> Fail(ErrorCode code, std::string message) {
  return std::unexpected<Error>(Error{code, std::move(message)});
}

[[noreturn]] void CheckFailed(const char* condition, const char* file, int line, const std::string& message);

}  // namespace ptx2cpu

// TRY(expression) yields the value or returns the error to the caller (a GNU statement expression; clang and
// gcc).
#define TRY(expression)                                                               \
  __extension__({                                                                     \
    auto ptx2cpu_result_ = (expression);                                              \
    if (!ptx2cpu_result_) return std::unexpected(std::move(ptx2cpu_result_).error()); \
    *std::move(ptx2cpu_result_);                                                      \
  })
#define TRY_STATUS(expression)                                                        \
  do {                                                                                \
    auto ptx2cpu_status_ = (expression);                                              \
    if (!ptx2cpu_status_) return std::unexpected(std::move(ptx2cpu_status_).error()); \
  } while (false)
#ifndef CHECK  // a test that has included Catch2 keeps Catch2's macro of that name
#define CHECK(condition, ...)                                                                             \
  do {                                                                                                    \
    if (!(condition)) ::ptx2cpu::CheckFailed(#condition, __FILE__, __LINE__, ::std::string{__VA_ARGS__}); \
  } while (false)
#endif

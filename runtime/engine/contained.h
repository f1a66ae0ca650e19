// The boundary around the compiler: its work runs on a stack of its own, since the caller's may be small, and
// what is thrown in it (a failed CHECK, no memory, LLVM's fatal errors) becomes an Error of this one request.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "ir/result.h"

namespace ptx2cpu::rt {

// kInternal: our bug; kLaunch: no memory, no stack.
Status RunContained(const std::function<void()>& work);

// `work` returns a Result.
template <typename Work>
auto Contained(const Work& work) -> decltype(work()) {
  std::optional<decltype(work())> result;
  if (auto ran = RunContained([&] { result.emplace(work()); }); !ran) return Fail(std::move(ran).error());
  return *std::move(result);
}

}  // namespace ptx2cpu::rt

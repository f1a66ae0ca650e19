// The boundaries around the engine and the translator: an exception in them (a failed CHECK, no memory,
// LLVM's fatal errors) becomes an Error of this one request. The translator's work runs on a stack of its
// own, since the caller's may be small.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "ir/result.h"

namespace ptx2cpu::rt {

// Runs `work` on a stack of its own. kInternal: our bug; kLaunch: no memory, no stack.
Status RunContained(const std::function<void()>& work);
// Runs `work` on the caller's stack.
Status RunCaught(const std::function<void()>& work);

// `work` returns a Result.
template <typename Work>
auto Contained(const Work& work) -> decltype(work()) {
  std::optional<decltype(work())> result;
  if (auto ran = RunContained([&] { result.emplace(work()); }); !ran) return Fail(std::move(ran).error());
  return *std::move(result);
}
template <typename Work>
auto Caught(const Work& work) -> decltype(work()) {
  std::optional<decltype(work())> result;
  if (auto ran = RunCaught([&] { result.emplace(work()); }); !ran) return Fail(std::move(ran).error());
  return *std::move(result);
}

}  // namespace ptx2cpu::rt

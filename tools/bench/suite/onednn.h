// oneDNN's product of matrices, opened at run time where it is installed (libdnnl.so.2): declarations are
// ours, nothing is linked.
#pragma once

#include <functional>
#include <memory>

#include "ir/result.h"

namespace ptx2cpu::suite {

struct Problem;

class OneDnn {
 public:
  // Errors: kUsage if the library is missing.
  static Result<std::shared_ptr<const OneDnn>> Open();

  // The problem's `product` on `threads` threads, which writes the same results; it must outlive the
  // function. tf32 is f32 there. Errors: kUnsupported if the library has no such product on this machine.
  Result<std::function<Status()>> Product(const Problem& problem, unsigned threads) const;

  struct State;
  explicit OneDnn(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

}  // namespace ptx2cpu::suite

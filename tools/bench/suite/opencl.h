// OpenCL, opened at run time where it is installed: declarations are ours, nothing is linked.
#pragma once

#include <memory>
#include <string>

#include "ir/result.h"

namespace ptx2cpu::suite {

struct Contender;
struct Problem;
struct Row;

class OpenCl {
 public:
  // The processor as PoCL's two devices: one that works in the calling thread, one that uses all threads.
  // Errors: kUsage if libOpenCL or such a platform is missing.
  static Result<std::shared_ptr<const OpenCl>> Open();
  std::string version() const;

  // `suite`: the folder of the families. Builds <family>/kernels.cl. The problem must outlive the contender.
  Result<Contender> Contend(const Row& row, const Problem& problem, unsigned workers,
                            const std::string& suite) const;

  struct State;
  explicit OpenCl(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

}  // namespace ptx2cpu::suite

#include "tools/demo_program/exhibit.h"

#include <fmt/format.h>

namespace ptx2cpu::demo {

namespace {

std::string Text(const Extent& extent) {
  if (extent.z != 1) return fmt::format("{}x{}x{}", extent.x, extent.y, extent.z);
  if (extent.y != 1) return fmt::format("{}x{}", extent.x, extent.y);
  return fmt::format("{}", extent.x);
}

}  // namespace

void Run::PrintOutcome() const {
  std::string launch = fmt::format("{} blocks of {} threads", Text(shape_.grid), Text(shape_.block));
  if (shape_.shared_bytes != 0)
    launch += fmt::format(", {} bytes of dynamic shared memory", shape_.shared_bytes);
  if (launches_ > 1) launch += fmt::format(", {} launches", launches_);
  page_.Entry("launch", launch);
  page_.Entry("time", fmt::format("translated and compiled in {:.1f} ms, ran in {:.2f} ms",
                                  kernel_.compile_milliseconds(), milliseconds_));
  for (const Verdict& verdict : verdicts_) {
    if (verdict.wrong == 0)
      page_.Entry("check", fmt::format("ok: {} {} equal to plain C++", verdict.total, verdict.what),
                  Colour::kGood);
    else
      page_.Entry(
          "check",
          fmt::format("WRONG: {} of {} {} differ from plain C++", verdict.wrong, verdict.total, verdict.what),
          Colour::kBad);
  }
}

}  // namespace ptx2cpu::demo

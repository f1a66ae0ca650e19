// One exhibit: a kernel, what it demonstrates, and the function that makes its data, runs and checks it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/ptx2cpu.h"
#include "tools/demo_program/page.h"

namespace ptx2cpu::demo {

// A kernel taken out of a program, and what happened to it on show.
class Run {
 public:
  Run(const Program& program, Kernel kernel, const Page& page)
      : program_(program), kernel_(std::move(kernel)), page_(page) {}

  const Page& page() const { return page_; }
  const Program& program() const { return program_; }

  template <typename... Args>
  Status Launch(const Shape& shape, const Args&... args) {
    const auto start = std::chrono::steady_clock::now();
    Status status = kernel_.Launch(shape, args...);
    milliseconds_ +=
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    shape_ = shape;
    ++launches_;
    return status;
  }

  // Reports how the result compares with plain C++. Any wrong comparison makes the program fail.
  void Check(size_t wrong, size_t total, std::string_view what) {
    right_ = right_ && wrong == 0;
    verdicts_.push_back({wrong, total, std::string(what)});
  }
  template <typename T>
  void CheckEqual(std::span<const T> found, std::span<const T> wanted, std::string_view what) {
    size_t wrong = found.size() == wanted.size() ? 0 : 1;
    for (size_t i = 0; i < found.size() && i < wanted.size(); ++i) {
      const auto bytes = std::as_bytes(found.subspan(i, 1));  // floats too: the same bits, whatever they mean
      wrong += std::ranges::equal(bytes, std::as_bytes(wanted.subspan(i, 1))) ? 0 : 1;
    }
    Check(wrong, wanted.size(), what);
  }

  void PrintOutcome() const;
  bool right() const { return right_ && !verdicts_.empty(); }

 private:
  struct Verdict {
    size_t wrong, total;
    std::string what;
  };
  const Program& program_;
  Kernel kernel_;
  const Page& page_;
  Shape shape_;
  size_t launches_ = 0;
  double milliseconds_ = 0;
  bool right_ = true;
  std::vector<Verdict> verdicts_;
};

struct Exhibit {
  std::string_view file;  // in corpus/bin
  std::string_view kind;  // of file
  std::string_view kernel;
  std::string_view shows;
  Status (*run)(Run&);
};

// Numbers that are the same on every machine.
class Draws {
 public:
  explicit Draws(uint64_t seed) : state_(seed) {}
  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>((Next() >> 32) * bound >> 32); }
  float Unit() { return static_cast<float>(Next() >> 40) * 0x1p-24f; }

 private:
  uint64_t Next() { return state_ = state_ * 6364136223846793005u + 1442695040888963407u; }
  uint64_t state_;
};

constexpr uint32_t BlocksFor(size_t items, uint32_t block) {
  return static_cast<uint32_t>((items + block - 1) / block);
}

Status ShowSaxpy(Run&);
Status ShowReductions(Run&);
Status ShowMatrixProduct(Run&);
Status ShowMandelbrot(Run&);
Status ShowLife(Run&);
Status ShowBodies(Run&);
Status ShowHistogram(Run&);
Status ShowSort(Run&);
Status ShowScan(Run&);
Status ShowEditDistance(Run&);

}  // namespace ptx2cpu::demo

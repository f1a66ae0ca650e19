// Times of kernels and of the code that they are compared with.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/result.h"

namespace ptx2cpu::bench {

struct Timing {
  std::string name;          // kernel and shape, without blanks
  double nanoseconds = 0;    // per launch
  double tree = 0, sum = 0;  // by hand, per launch; 0: there is none
};

// A kernel ready to run. Each function does one launch's work.
struct Subject {
  std::string name;
  std::function<Status()> launch;
  std::function<void()> tree = {}, sum = {};
  std::function<bool()> right = {};  // whether launch, tree and sum leave the same result
};

Result<std::vector<Subject>> LoadSubjects(const std::string& corpus_bin);
Result<Timing> Measure(const Subject& subject);

// One line per subject, "name nanoseconds", from the program `path` with --plain.
Result<std::vector<Timing>> RunProgram(const std::string& path, const std::string& corpus_bin);
Status Compare(const std::string& self, const std::string& other, const std::string& corpus_bin, bool json);

// Prints the times of the functions of runtime/texture.
void PrintTextureTimes();

double Median(std::vector<double> values);

// by_hand.cpp: block b of `blocks` with `threads` threads each covers elements as a grid-stride loop does.
void ReduceTree(std::span<const uint32_t> in, std::span<uint32_t> sums, uint32_t threads);
void ReduceSum(std::span<const uint32_t> in, std::span<uint32_t> sums, uint32_t threads);

}  // namespace ptx2cpu::bench

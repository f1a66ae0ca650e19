// The calls that library_speed compares.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ptx2cpu::library_speed {

struct Comparison {
  std::string name, engine_name, target;
  std::string missing;  // the file of an engine or library that cannot be opened; empty: none
  std::function<void()> engine;
  std::function<void()> ours;  // may return before the results are there
  std::function<void()> wait;  // for all that was called
  std::function<bool()> agrees;
};

std::vector<Comparison> Comparisons();

}  // namespace ptx2cpu::library_speed

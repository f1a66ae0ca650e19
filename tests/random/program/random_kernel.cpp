// random_kernel --seed N [--features LIST] [--name NAME]: prints a random kernel as a vector file; with
// --features patterns, one of memory and number patterns.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/random/generator/write.h"
#include "tests/random/patterns/tree.h"

using namespace ptx2cpu::random_kernels;

namespace {
int Usage() {
  std::fprintf(
      stderr,
      "usage: random_kernel --seed N [--features LIST] [--name NAME]\nLIST: `patterns`, or names, `all` or "
      "-name, separated by commas: %s\n",
      NamesOf(kAllFeatures).c_str());
  return 2;
}
}  // namespace

int main(int count, char** words) {
  uint64_t seed = 1;
  std::string name = "random_kernel";
  Features features = kAllFeatures;
  bool patterns = false;
  for (int i = 1; i < count; i += 2) {
    if (i + 1 == count) return Usage();
    const std::string option = words[i], value = words[i + 1];
    if (option == "--seed")
      seed = std::strtoull(value.c_str(), nullptr, 10);
    else if (option == "--name")
      name = value;
    else if (option == "--features" && value == "patterns")
      patterns = true;
    else if (option == "--features" && ParseFeatures(value))
      features = *ParseFeatures(value);
    else
      return Usage();
  }
  namespace rp = ptx2cpu::random_patterns;
  const std::string text =
      patterns ? rp::WriteModule(rp::Grow(seed), name) : WriteModule(Grow(seed, features), name);
  std::fputs(text.c_str(), stdout);
}

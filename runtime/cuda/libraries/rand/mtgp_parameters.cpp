// The table of MTGP32's parameters, read from a file that has it as C text.
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "runtime/cuda/libraries/rand/mtgp.h"

namespace ptx2cpu::libraries {

namespace {

// What a structure has: exponent, picked word, shifts; tables of the recursion, of the tempering and of the
// tempering of floats; a mask; a digest of 21 bytes.
constexpr size_t kNumbers = 4 + 3 * 16 + 1 + 21;
constexpr uint64_t kExponent = 11213, kMask = 0xfff80000;
constexpr int kMaxPicked = 350, kMaxShift = 31;

std::string WithoutComments(const std::string& text) {
  std::string rest;
  for (size_t at = 0; at < text.size();) {
    const bool is_block = text.compare(at, 2, "/*") == 0, is_line = text.compare(at, 2, "//") == 0;
    if (!is_block && !is_line) {
      rest += text[at++];
      continue;
    }
    const size_t end = text.find(is_block ? "*/" : "\n", at + 2);
    if (end == std::string::npos) break;
    at = end + (is_block ? 2 : 0);
  }
  return rest;
}

// All numbers of the initialiser: after the first brace that follows an equals sign, to its end.
std::vector<uint64_t> NumbersOf(const std::string& text) {
  std::vector<uint64_t> numbers;
  const size_t begin = text.find('{', text.find('='));
  if (begin == std::string::npos) return numbers;
  const size_t end = std::min(text.find(';', begin), text.size());
  for (size_t at = begin; at < end;) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (std::isalpha(byte) != 0 || byte == '_') {  // a macro around a number
      while (at < end && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_')) ++at;
    } else if (std::isdigit(byte) != 0) {
      char* after = nullptr;
      numbers.push_back(std::strtoull(&text[at], &after, 0));
      at = static_cast<size_t>(after - text.data());
    } else {
      ++at;
    }
  }
  return numbers;
}

std::vector<MtgpParameters> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return {};
  return ReadMtgpParameters(std::string(std::istreambuf_iterator<char>(in), {}));
}

std::vector<MtgpParameters> Find() {
  std::vector<std::string> paths;
  if (const char* named = std::getenv("PTX2CPU_MTGP32"); named != nullptr && *named != '\0') {
    paths.emplace_back(named);
  } else {
    const std::string file = "/curand_mtgp32dc_p_11213.h";
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
      if (const char* folder = std::getenv(variable))
        paths.push_back(std::string(folder) + "/include" + file);
    }
    for (const char* folder : {"/usr/local/cuda/include", "/opt/cuda/include", "/usr/include"})
      paths.push_back(folder + file);
  }
  for (const std::string& path : paths) {
    auto parameters = ReadFile(path);
    if (parameters.size() >= kMtgpSequences) return parameters;
  }
  return {};
}

}  // namespace

std::vector<MtgpParameters> ReadMtgpParameters(const std::string& text) {
  const std::vector<uint64_t> numbers = NumbersOf(WithoutComments(text));
  std::vector<MtgpParameters> all;
  if (numbers.size() % kNumbers != 0) return all;
  for (auto at = numbers.begin(); at != numbers.end(); at += kNumbers) {
    MtgpParameters one{static_cast<int>(at[1]), static_cast<int>(at[2]), static_cast<int>(at[3]), {}, {}};
    if (at[0] != kExponent || at[kNumbers - 22] != kMask || one.picked < 1 || one.picked > kMaxPicked ||
        one.left < 0 || one.left > kMaxShift || one.right < 0 || one.right > kMaxShift)
      return {};
    for (size_t i = 0; i < 16; ++i) {
      one.recursion[i] = static_cast<uint32_t>(at[4 + static_cast<long>(i)]);
      one.tempering[i] = static_cast<uint32_t>(at[20 + static_cast<long>(i)]);
    }
    all.push_back(one);
  }
  return all;
}

const std::vector<MtgpParameters>* KnownMtgpParameters() {
  static const std::vector<MtgpParameters> known = Find();
  return known.empty() ? nullptr : &known;
}

}  // namespace ptx2cpu::libraries

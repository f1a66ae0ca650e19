// cuRAND's MTGP32: its order and arithmetic with a made-up table of parameters; the numbers of NVIDIA's
// library with the published one, where a CUDA toolkit has it.
#include <fstream>
#include <sstream>

#include "tests/libraries/curand_case.h"
#include "tests/run_shell.h"
#include "tests/scratch_folder.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cuda;
using namespace ptx2cpu::curand_case;
using test::ScratchFolder;

namespace {

const char* const kPublished = "/usr/local/cuda/include/curand_mtgp32dc_p_11213.h";

struct Parameters {
  int picked, left, right;
  uint32_t recursion[16], tempering[16];
};
// Any numbers do for the arithmetic, which is not of a long period then.
std::vector<Parameters> MadeUp(size_t count) {
  std::vector<Parameters> all(count);
  uint32_t noise = 12345;
  const auto next = [&] { return noise = noise * 1664525 + 1013904223; };
  for (Parameters& one : all) {
    one.picked = static_cast<int>(1 + (next() >> 8) % 350);
    one.left = static_cast<int>((next() >> 8) % 32), one.right = static_cast<int>((next() >> 8) % 32);
    for (int i = 0; i < 16; ++i) one.recursion[i] = next(), one.tempering[i] = next();
  }
  return all;
}
// As the published table is written: hexadecimal numbers within macros, comments.
std::string TextOf(const std::vector<Parameters>& all) {
  std::ostringstream text;
  const auto list = [&](const uint32_t(&numbers)[16]) {
    text << "{ // sixteen\n";
    for (const uint32_t number : numbers) text << " UINT32_C(0x" << std::hex << number << std::dec << "),";
    text << "},\n";
  };
  text << "/* = { 7 */\n#include <stdint.h>\nparameters table[] = {\n";
  for (const Parameters& one : all) {
    text << "{ 11213, " << one.picked << ",\n" << one.left << ", " << one.right << ",\n";
    list(one.recursion), list(one.tempering), list({});
    text << "0xfff80000u, {0xcb,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,0x00} },\n";
  }
  text << "};\nint rest = 5;\n";
  return text.str();
}

// The generator as its authors define it, over a list of all its words.
std::vector<uint32_t> WordsOf(const Parameters& by, uint32_t seed, size_t count) {
  constexpr size_t kState = 351;
  const uint32_t hidden = by.recursion[4] ^ by.recursion[8] << 16;
  uint32_t byte = hidden + (hidden >> 16);
  byte = (byte + (byte >> 8)) & 0xff;
  std::vector<uint32_t> all(kState, byte << 24 | byte << 16 | byte << 8 | byte), words;
  all[0] = seed, all[1] = hidden;
  for (uint32_t i = 1; i < kState; ++i) all[i] ^= 1812433253 * (all[i - 1] ^ all[i - 1] >> 30) + i;
  for (size_t i = 0; i < count; ++i) {
    uint32_t x = (all[i] & 0xfff80000) ^ all[i + 1];
    x ^= x << by.left;
    x ^= all[i + static_cast<size_t>(by.picked)] >> by.right;
    all.push_back(x ^ by.recursion[x & 15]);
    uint32_t other = all[i + static_cast<size_t>(by.picked) - 1];
    other ^= other >> 16, other ^= other >> 8;
    words.push_back(all.back() ^ by.tempering[other & 15]);
  }
  return words;
}
// 256 words of each sequence in turn.
std::vector<uint32_t> InOrder(const std::vector<Parameters>& all, size_t sequences, uint64_t seed,
                              size_t count) {
  std::vector<uint32_t> words(count);
  const size_t turns = count / (256 * sequences) + 1;
  for (size_t k = 0; k < sequences; ++k) {
    const auto own = WordsOf(all[k], static_cast<uint32_t>((seed ^ seed >> 32) + k + 1), 256 * turns);
    for (size_t i = 0; i < own.size(); ++i) {
      const size_t place = (i / 256 * sequences + k) * 256 + i % 256;
      if (place < count) words[place] = own[i];
    }
  }
  return words;
}

std::vector<std::string> Answers(const ScratchFolder& folder, const std::string& table,
                                 const std::string& script) {
  std::ofstream(folder.path() / "script.calls") << "use libcudart.so.13\nuse libcurand.so.10\nhandle g\n"
                                                << script;
  const auto outcome = test::RunShell("env PTX2CPU_MTGP32=" + table +
                                          " LD_LIBRARY_PATH=" PTX2CPU_BINARY_DIR
                                          "/lib/ptx2cpu " PTX2CPU_BINARY_DIR "/bin/record_calls " +
                                          (folder.path() / "script.calls").string(),
                                      60);
  REQUIRE(outcome.code == 0);
  std::vector<std::string> lines;
  std::istringstream in(outcome.text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}
std::string Shown(const std::string& name, const std::vector<uint32_t>& words) {
  std::string line = "  " + name;
  for (const uint32_t word : words) line += " " + std::to_string(word);
  return line;
}

}  // namespace

TEST_CASE("curand: MTGP32 goes around the sequences of a table that a file has") {
  const ScratchFolder folder;
  const auto all = MadeUp(200);
  const std::string table = (folder.path() / "table.c").string();
  std::ofstream(table) << TextOf(all);
  constexpr size_t kCount = 100000;
  const uint64_t seed = 0x123456789abcdef;
  const auto lines =
      Answers(folder, table,
              "call curandCreateGenerator &g 141\n"
              "call curandSetPseudoRandomGeneratorSeed g " +
                  std::to_string(seed) +
                  "\ndevice w W 100000 = 0\ndevice v W 70000 = 0\ndevice u S 2 = 7\n"
                  "call curandGenerate g w 300\ncall curandGenerate g w+300 99700\nshow w\n"
                  "call curandGenerateUniform g u 2\nshow u\n"
                  "call curandSetGeneratorOrdering g 103\ncall curandGenerate g v 70000\nshow v\n"
                  "call curandSetGeneratorOffset g 3\ncall curandSetGeneratorOrdering g 102\n");
  const auto words = InOrder(all, 192, seed, kCount + 2);
  REQUIRE(lines.size() == 8);
  CHECK(lines[1] == ": 0 0 0 0");
  CHECK((lines[2] == Shown("w", {words.begin(), words.end() - 2})));
  std::ostringstream uniform;
  uniform << "  u" << std::hex;
  for (size_t i = kCount; i < kCount + 2; ++i) {
    const float number = static_cast<float>(words[i]) * 0x1p-32f + 0x1p-33f;
    uint32_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    std::string digits = (std::ostringstream() << std::hex << bits).str();
    while (digits.ends_with('0')) digits.pop_back();
    uniform << " " << digits;
  }
  CHECK(lines[4] == uniform.str());
  CHECK((lines[6] == Shown("v", InOrder(all, 64, seed, 70000))));
  CHECK(lines[7] == ": 103 104");
}

TEST_CASE("curand: MTGP32 is refused without a table of enough sequences") {
  const ScratchFolder folder;
  std::string text = TextOf(MadeUp(191));
  std::ofstream(folder.path() / "few.c") << text;
  std::ofstream(folder.path() / "other.c") << "int primes[] = {2, 3, 5, 7};";
  std::ofstream(folder.path() / "cut.c") << TextOf(MadeUp(200)).substr(0, 30000);
  for (const char* name : {"few.c", "other.c", "cut.c", "missing.c"}) {
    INFO(name);
    const auto lines =
        Answers(folder, (folder.path() / name).string(), "call curandCreateGenerator &g 141\n");
    REQUIRE(lines.size() == 3);
    CHECK(lines[0].find("PTX2CPU_MTGP32") != std::string::npos);
    CHECK(lines[2] == ": 103");
  }
}

TEST_CASE("curand: MTGP32's numbers are those of a GPU") {
  if (!std::ifstream(kPublished)) return;
  const auto records = Records("mtgp32");
  REQUIRE(records.size() == 20);
  CheckExact(records, "raw", Generator(141).Draw<uint32_t>("curandGenerate", 262144));
  CheckExact(records, "rawdefaultseed", Generator(141, false, false).Draw<uint32_t>("curandGenerate", 512));
  for (const bool on_host : {false, true}) {
    Generator often(141, on_host), odd(141, on_host);
    std::vector<uint32_t> all, few;
    for (const size_t count : {1000, 5000, 7, 70000})
      Append(all, often.Draw<uint32_t>("curandGenerate", count));
    for (const size_t count : {1, 255, 256, 257, 3}) Append(few, odd.Draw<uint32_t>("curandGenerate", count));
    CheckExact(records, "calls1000,5000,7,70000", all);
    CheckExact(records, "calls1,255,256,257,3", few);
  }
  Generator long_seed(141), legacy(141);
  long_seed.Set("curandSetPseudoRandomGeneratorSeed", 0x123456789abcdefULL);
  CheckExact(records, "rawlongseed", long_seed.Draw<uint32_t>("curandGenerate", 512));
  legacy.Set("curandSetGeneratorOrdering", 103);
  CheckExact(records, "legacy:raw", legacy.Draw<uint32_t>("curandGenerate", 131072));
  const size_t n = 20000;
  CheckExact(records, "uniform", Generator(141).Draw<float>("curandGenerateUniform", n));
  CheckExact(records, "uniformdouble", Generator(141).Draw<double>("curandGenerateUniformDouble", n));
  CheckNear(records, "normal", Generator(141).Draw<float>("curandGenerateNormal", n, 0.0f, 1.0f));
  CheckNear(records, "lognormal", Generator(141).Draw<float>("curandGenerateLogNormal", n, 0.5f, 0.25f));
  CheckNear(records, "normaldouble", Generator(141).Draw<double>("curandGenerateNormalDouble", n, 0.0, 1.0));
  for (const double mean : {0.5, 3.5, 31.99, 32.0, 100.0, 1999.0, 3000.0, 8000.0}) {
    CheckExact(records, "poisson" + (std::ostringstream() << mean).str(),
               Generator(141).Draw<uint32_t>("curandGeneratePoisson", n, mean));
  }
  // Larger ones are rounded normal numbers, which are those of a GPU within rounding.
  const auto large = Generator(141).Draw<uint32_t>("curandGeneratePoisson", n, 8001.0);
  for (const auto& [place, bits] : records.at("poisson8001").places)
    CHECK(std::abs(static_cast<int64_t>(large[place]) - static_cast<int64_t>(bits)) <= 1);
}

TEST_CASE("curand: MTGP32's status is that of a GPU") {
  if (!std::ifstream(kPublished)) return;
  const std::string calls = PTX2CPU_SOURCE_DIR "/tests/libraries/calls/curand";
  const auto outcome = test::RunShell(std::string("env PTX2CPU_MTGP32=") + kPublished +
                                          " LD_LIBRARY_PATH=" PTX2CPU_BINARY_DIR
                                          "/lib/ptx2cpu " PTX2CPU_BINARY_DIR "/bin/record_calls " +
                                          calls + ".calls --only status.141 --against " + calls + ".gpu",
                                      60);
  INFO(outcome.text);
  CHECK(outcome.code == 0);
}

// cuRAND against the numbers of a GPU (curand.gpu) and of its host generators (curand.host): words and
// uniform numbers to the bit, normal ones within rounding.
#include "tests/libraries/curand_case.h"
#include "tools/api_table/api_table.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cuda;
using namespace ptx2cpu::curand_case;

TEST_CASE("curand: the numbers of a GPU, in its order") {
  struct Engine {
    const char* name;
    int type;
  };
  for (const auto& [name, type] : {Engine{"xorwow", 101}, Engine{"mrg", 121}, Engine{"philox", 161}}) {
    INFO(name);
    const auto records = Records(name);
    REQUIRE(records.size() == 14);
    CheckExact(records, "raw", Generator(type).Draw<uint32_t>("curandGenerate", records.at("raw").bytes / 4));
    CheckExact(records, "raw",
               Generator(type, true).Draw<uint32_t>("curandGenerate", records.at("raw").bytes / 4));
    Generator legacy(type);
    legacy.Set("curandSetGeneratorOrdering", 103);
    CheckExact(records, "legacy:raw",
               legacy.Draw<uint32_t>("curandGenerate", records.at("legacy:raw").bytes / 4));
    curandGenerator_t plain = nullptr;
    REQUIRE(Curand().Call("curandCreateGenerator", &plain, type) == 0);
    std::vector<uint32_t> words(512);
    REQUIRE(Curand().Call("curandGenerate", plain, words.data(), words.size()) == 0);
    REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
    CheckExact(records, "rawdefaultseed", words);
    REQUIRE(Curand().Call("curandDestroyGenerator", plain) == 0);
    Generator long_seed(type);
    long_seed.Set("curandSetPseudoRandomGeneratorSeed", 1234567890123456789ULL);
    CheckExact(records, "rawlongseed", long_seed.Draw<uint32_t>("curandGenerate", 512));
    Generator later(type);
    later.Set("curandSetGeneratorOffset", 5003ULL);
    CheckExact(records, "raw+off5003", later.Draw<uint32_t>("curandGenerate", 16384));
    Generator often(type);
    std::vector<uint32_t> calls;
    for (const size_t count : {1000, 5000, 7, 70000})
      Append(calls, often.Draw<uint32_t>("curandGenerate", count));
    CheckExact(records, "calls1000,5000,7,70000", calls);

    const size_t n = 20000;
    CheckExact(records, "uniform", Generator(type).Draw<float>("curandGenerateUniform", n));
    CheckExact(records, "uniformdouble", Generator(type).Draw<double>("curandGenerateUniformDouble", n));
    Generator odd(type);
    std::vector<float> twice = odd.Draw<float>("curandGenerateUniform", 1001);
    Append(twice, odd.Draw<float>("curandGenerateUniform", 1001));
    CheckExact(records, "uniform1001twice", twice);
    CheckNear(records, "normal", Generator(type).Draw<float>("curandGenerateNormal", n, 0.0f, 1.0f));
    CheckNear(records, "normal2.5,0.5", Generator(type).Draw<float>("curandGenerateNormal", n, 2.5f, 0.5f));
    CheckNear(records, "normaldouble",
              Generator(type).Draw<double>("curandGenerateNormalDouble", n, 0.0, 1.0));
    CheckNear(records, "lognormal", Generator(type).Draw<float>("curandGenerateLogNormal", n, 0.5f, 0.25f));
    CheckNear(records, "lognormaldouble",
              Generator(type).Draw<double>("curandGenerateLogNormalDouble", n, 0.5, 0.25));
  }
}

namespace {

// A Sobol generator, from a place on.
class Sobol : public Generator {
 public:
  Sobol(int bits, unsigned dimensions, unsigned long long offset = 0)
      : Generator(bits == 32 ? 201 : 203, bits == 32, false) {
    Set("curandSetQuasiRandomGeneratorDimensions", dimensions);
    Set("curandSetGeneratorOffset", offset);
  }
};

template <typename Word>
void CheckSobol(const char* name, int bits, const std::string& draw) {
  const auto records = Records(name, "curand.host");
  REQUIRE(records.size() == 11);
  for (const unsigned dimensions : {1u, 2u, 21u}) {
    const size_t count = size_t{2000} * dimensions;
    const std::string raw = "raw" + std::to_string(dimensions);
    CheckExact(records, raw, Sobol(bits, dimensions).Draw<Word>(draw, count));
    CheckExact(records, raw + "+off5003", Sobol(bits, dimensions, 5003).Draw<Word>(draw, count));
  }
  Sobol twice(bits, 3);
  std::vector<float> uniform = twice.Draw<float>("curandGenerateUniform", 300);
  Append(uniform, twice.Draw<float>("curandGenerateUniform", 210));
  CheckExact(records, "uniform3twice", uniform);
  const size_t n = 3000;
  CheckExact(records, "uniformdouble3", Sobol(bits, 3).Draw<double>("curandGenerateUniformDouble", n));
  CheckNear(records, "normal3", Sobol(bits, 3, 1).Draw<float>("curandGenerateNormal", n, 0.0f, 1.0f));
  CheckNear(records, "normaldouble3",
            Sobol(bits, 3, 1).Draw<double>("curandGenerateNormalDouble", n, 2.5, 0.5));
  CheckNear(records, "lognormal3", Sobol(bits, 3, 1).Draw<float>("curandGenerateLogNormal", n, 0.0f, 0.5f));
}

}  // namespace

TEST_CASE("curand: Sobol sequences are those of NVIDIA's library on the host") {
  CheckSobol<uint32_t>("sobol32", 32, "curandGenerate");
  CheckSobol<unsigned long long>("sobol64", 64, "curandGenerateLongLong");
}

TEST_CASE("curand: status of wrong calls of Sobol generators") {
  Sobol narrow(32, 3), wide(64, 2);
  std::vector<uint32_t> words(12);
  std::vector<unsigned long long> longs(12);
  CHECK(Curand().Call("curandGenerate", narrow.handle(), words.data(), size_t{4}) ==
        CURAND_STATUS_LENGTH_NOT_MULTIPLE);
  CHECK(Curand().Call("curandGenerateLongLong", narrow.handle(), longs.data(), size_t{3}) ==
        CURAND_STATUS_TYPE_ERROR);
  CHECK(Curand().Call("curandGenerate", wide.handle(), words.data(), size_t{2}) == CURAND_STATUS_TYPE_ERROR);
  CHECK(Curand().Call("curandSetPseudoRandomGeneratorSeed", narrow.handle(), 1ULL) ==
        CURAND_STATUS_TYPE_ERROR);
  CHECK(Curand().Call("curandSetGeneratorOrdering", narrow.handle(), 101) == CURAND_STATUS_OUT_OF_RANGE);
  CHECK(Curand().Call("curandSetGeneratorOrdering", narrow.handle(), 201) == 0);
  for (const unsigned dimensions : {0u, 22u, 20001u}) {
    CHECK(Curand().Call("curandSetQuasiRandomGeneratorDimensions", narrow.handle(), dimensions) ==
          CURAND_STATUS_OUT_OF_RANGE);
  }
}

TEST_CASE("curand: an offset is a place in the order, however far") {
  for (const int type : {101, 121, 161}) {
    Generator near(type), far(type);
    const std::vector<uint32_t> all = near.Draw<uint32_t>("curandGenerate", 700000);
    far.Set("curandSetGeneratorOffset", 600001ULL);
    const std::vector<uint32_t> part = far.Draw<uint32_t>("curandGenerate", 90000);
    CHECK(part == std::vector<uint32_t>(all.begin() + 600001, all.begin() + 690001));
  }
}

TEST_CASE("curand: what is not supported has the status of a wrong type") {
  curandGenerator_t generator = nullptr;
  for (const int type : {7, 202, 204})
    CHECK(Curand().Call("curandCreateGenerator", &generator, type) == CURAND_STATUS_TYPE_ERROR);
  Generator xorwow(101);
  unsigned long long wide = 0;
  unsigned narrow = 0;
  CHECK(Curand().Call("curandGenerateLongLong", xorwow.handle(), &wide, size_t{1}) ==
        CURAND_STATUS_TYPE_ERROR);
  CHECK(Curand().Call("curandSetQuasiRandomGeneratorDimensions", xorwow.handle(), 3u) ==
        CURAND_STATUS_TYPE_ERROR);
  CHECK(Curand().Call("curandSetGeneratorOrdering", xorwow.handle(), 201) == CURAND_STATUS_OUT_OF_RANGE);
  CHECK(Curand().Call("curandGenerate", static_cast<curandGenerator_t>(nullptr), &narrow, size_t{1}) ==
        CURAND_STATUS_NOT_INITIALIZED);
}

TEST_CASE("curand: the soname exports what its table states, with its version node") {
  const auto table = api_table::Read(PTX2CPU_SOURCE_DIR "/runtime/cuda/libraries/rand/curand.api");
  REQUIRE(table);
  for (const api_table::Function& function : table->functions) {
    INFO(function.name);
    CHECK(Curand().Find(function.name, "libcurand.so.10") != nullptr);
  }
}

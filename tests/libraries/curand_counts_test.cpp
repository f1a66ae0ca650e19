// cuRAND's Mersenne twister, seeded order and Poisson numbers against those of a GPU (curand.gpu).
#include <sys/syscall.h>
#include <unistd.h>

#include <cmath>
#include <memory>

#include "tests/libraries/curand_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cuda;
using namespace ptx2cpu::curand_case;

namespace {

using Values = std::map<std::string, Record>;

template <typename T, typename... Args>
std::vector<T> DrawAll(Generator& generator, const std::string& name, std::initializer_list<size_t> counts,
                       Args... args) {
  std::vector<T> all;
  for (const size_t count : counts) Append(all, generator.Draw<T>(name, count, args...));
  return all;
}

// The words and uniform numbers that both have records of.
template <typename Make>
void CheckWords(const Values& records, const Make& make) {
  auto often = make();
  CheckExact(records, "raw", DrawAll<uint32_t>(*often, "curandGenerate", {1000, 5000, 7, 70000, 73993}));
  auto wide_seed = make();
  wide_seed->Set("curandSetPseudoRandomGeneratorSeed", 0xfffffffeULL);
  CheckExact(records, "rawwideseed", wide_seed->template Draw<uint32_t>("curandGenerate", 512));
  auto single = make(), wide = make();
  CheckExact(records, "uniform", DrawAll<float>(*single, "curandGenerateUniform", {20001, 77}));
  CheckExact(records, "uniformdouble", DrawAll<double>(*wide, "curandGenerateUniformDouble", {20001, 77}));
}

std::unique_ptr<Generator> Seeded() {
  auto generator = std::make_unique<Generator>(101);
  generator->Set("curandSetGeneratorOrdering", 102);
  return generator;
}
std::unique_ptr<Generator> Twister() { return std::make_unique<Generator>(142); }

}  // namespace

TEST_CASE("curand: sequences of the seeded order have a seed each") {
  const Values records = Records("xorwow_seeded");
  REQUIRE(records.size() == 5);
  CheckWords(records, Seeded);
  auto later = Seeded();
  later->Set("curandSetGeneratorOffset", 5003ULL);
  CheckExact(records, "raw+off5003", later->Draw<uint32_t>("curandGenerate", 512));
  later->Set("curandSetGeneratorOrdering", 101);
  later->Set("curandSetGeneratorOffset", 0ULL);
  CHECK(later->Draw<uint32_t>("curandGenerate", 9) == Generator(101).Draw<uint32_t>("curandGenerate", 9));
  CHECK(Curand().Call("curandSetGeneratorOrdering", Generator(161).handle(), 102) ==
        CURAND_STATUS_OUT_OF_RANGE);
}

TEST_CASE("curand: the Mersenne twister draws from 8192 places of one sequence") {
  const Values records = Records("mt19937");
  REQUIRE(records.size() == 6);
  CheckWords(records, Twister);
  CheckNear(records, "normal0.5,0.25", Twister()->Draw<float>("curandGenerateNormal", 20000, 0.5f, 0.25f));
  CheckNear(records, "lognormaldouble0.5,0.25",
            Twister()->Draw<double>("curandGenerateLogNormalDouble", 20000, 0.5, 0.25));
  const auto generator = Twister();
  CHECK(Curand().Call("curandSetGeneratorOffset", generator->handle(), 5003ULL) == CURAND_STATUS_TYPE_ERROR);
  CHECK(Curand().Call("curandSetGeneratorOrdering", generator->handle(), 102) == CURAND_STATUS_OUT_OF_RANGE);
}

TEST_CASE("curand: Poisson numbers of each generator") {
  struct Engine {
    const char* name;
    int type;
  };
  for (const auto& [name, type] : {Engine{"xorwow", 101}, Engine{"mrg", 121}, Engine{"mt19937", 142},
                                   Engine{"philox", 161}, Engine{"sobol32", 201}, Engine{"sobol64", 203}}) {
    const Values records = Records("poisson_" + std::string(name));
    REQUIRE(records.size() == 7);
    for (const auto& [mean, record] : records) {
      INFO(name << " " << mean);
      Generator generator(type, false, type < 200);
      const auto found =
          DrawAll<uint32_t>(generator, "curandGeneratePoisson", {20000, 1001, 1000}, std::stod(mean));
      // For larger means they are rounded normal numbers, which equal a GPU's within rounding.
      if (std::stod(mean) < 2000) {
        CheckExact(records, mean, found);
      } else {
        for (const auto& [place, bits] : record.places)
          CHECK(std::abs(static_cast<int64_t>(found[place]) - static_cast<int64_t>(bits)) <= 1);
      }
    }
  }
}

TEST_CASE("curand: means of Poisson distributions are positive and at most 400,000") {
  Generator generator(101, true);
  std::vector<uint32_t> numbers(2);
  for (const double mean : {0.0, -1.0, 400000.5, std::nan("")}) {
    CHECK(Curand().Call("curandGeneratePoisson", generator.handle(), numbers.data(), size_t{2}, mean) ==
          CURAND_STATUS_OUT_OF_RANGE);
  }
  CHECK(Curand().Call("curandGeneratePoisson", generator.handle(), numbers.data(), size_t{2}, 400000.0) == 0);
  CHECK(Curand().Call("curandGeneratePoisson", static_cast<curandGenerator_t>(nullptr), numbers.data(),
                      size_t{2}, 3.0) == CURAND_STATUS_NOT_INITIALIZED);
}

namespace {

// What curand_discrete reads, as curand_discrete.h declares it.
struct Discrete {
  struct Histogram {
    double *limits, *host_limits;
    unsigned *others, *host_others;
    unsigned on_host;
  };
  struct Shifted {
    Histogram *histogram, *host_histogram;
    unsigned first, length, on_host;
  };
  Discrete* self;
  Shifted *table, *host_table;
  double deviation, mean;
  int method;
  unsigned on_host;
};

}  // namespace

TEST_CASE("curand: distributions for kernels have the numbers of generators") {
  for (const double mean : {0.25, 3.5, 1999.0}) {
    Discrete* distribution = nullptr;
    REQUIRE(Curand().Call("curandCreatePoissonDistribution", mean, &distribution) == 0);
    CHECK(distribution->method == 5);
    const auto words = Twister()->Draw<uint32_t>("curandGenerate", 200);
    const auto numbers = Twister()->Draw<uint32_t>("curandGeneratePoisson", 200, mean);
    const auto number_of = [&](double u) {
      const auto cell = static_cast<unsigned>(distribution->table->length * u);
      const auto& histogram = *distribution->table->histogram;
      return distribution->table->first + (u < histogram.limits[cell] ? cell : histogram.others[cell]);
    };
    for (size_t i = 0; i < words.size(); ++i) REQUIRE(number_of((words[i] + 1.0) * 0x1p-32) == numbers[i]);
    CHECK(number_of(1) >= distribution->table->first);
    CHECK(number_of(1) < distribution->table->first + distribution->table->length);
    CHECK(Curand().Call("curandDestroyDistribution", distribution) == 0);
  }
  Discrete* large = nullptr;
  REQUIRE(Curand().Call("curandCreatePoissonDistribution", 5000.0, &large) == 0);
  CHECK(large->method == 7);
  CHECK(large->mean == 5000);
  CHECK(large->deviation == std::sqrt(5000.0));
  CHECK(Curand().Call("curandDestroyDistribution", large) == 0);
}

namespace {

// Asked of the system, which answers instead of a fault; not through a sanitizer's write.
bool CanRead(const void* address) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const bool can = syscall(SYS_write, ends[1], address, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return can;
}

}  // namespace

TEST_CASE("curand: direction numbers beyond the known dimensions are addresses that fault") {
  const uint32_t(*narrow)[32] = nullptr;
  const uint64_t(*wide)[64] = nullptr;
  REQUIRE(Curand().Call("curandGetDirectionVectors32", &narrow, 101) == 0);
  REQUIRE(Curand().Call("curandGetDirectionVectors64", &wide, 103) == 0);
  CHECK(narrow[1][1] == 0xc0000000);
  CHECK(wide[20][0] == 1ULL << 63);
  CHECK(CanRead(narrow[20]));
  CHECK(CanRead(wide[20]));
  CHECK_FALSE(CanRead(narrow[21]));
  CHECK_FALSE(CanRead(wide[21]));
}

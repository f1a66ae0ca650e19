// Generators and their numbers.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "curand_api.h"
#include "runtime/cuda/libraries/core/stream_call.h"
#include "runtime/cuda/libraries/rand/mtgp.h"
#include "runtime/cuda/libraries/rand/poisson.h"
#include "runtime/cuda/libraries/rand/quasi.h"
#include "runtime/cuda/libraries/rand/sequences.h"

namespace ptx2cpu::curand {

namespace {

using libraries::RandomEngine;

// A generator's engines by order: LEGACY and SEEDED have others in some. The order DYNAMIC is the usual one.
struct EngineRow {
  curandRngType_t type;
  RandomEngine usual, legacy;
  std::optional<RandomEngine> seeded = std::nullopt;
  bool has_dynamic = true;
};
constexpr EngineRow kEngines[] = {
    {CURAND_RNG_PSEUDO_DEFAULT, RandomEngine::kXorwow, RandomEngine::kXorwow, RandomEngine::kXorwowSeeded},
    {CURAND_RNG_PSEUDO_XORWOW, RandomEngine::kXorwow, RandomEngine::kXorwow, RandomEngine::kXorwowSeeded},
    {CURAND_RNG_PSEUDO_MRG32K3A, RandomEngine::kMrg32k3a, RandomEngine::kMrg32k3aLegacy},
    {CURAND_RNG_PSEUDO_MTGP32, RandomEngine::kMtgp, RandomEngine::kMtgpLegacy},
    {CURAND_RNG_PSEUDO_PHILOX4_32_10, RandomEngine::kPhilox, RandomEngine::kPhilox},
    {CURAND_RNG_PSEUDO_MT19937, RandomEngine::kTwister, RandomEngine::kTwister, std::nullopt, false},
    {CURAND_RNG_QUASI_DEFAULT, RandomEngine::kSobol32, RandomEngine::kSobol32},
    {CURAND_RNG_QUASI_SOBOL32, RandomEngine::kSobol32, RandomEngine::kSobol32},
    {CURAND_RNG_QUASI_SOBOL64, RandomEngine::kSobol64, RandomEngine::kSobol64}};

}  // namespace

}  // namespace ptx2cpu::curand

// Work that is queued keeps the sequences that it draws from.
struct ptx2cpu::cuda::curandGenerator_st {
  const ptx2cpu::curand::EngineRow* row = nullptr;
  ptx2cpu::libraries::RandomEngine engine = {};
  bool on_host = false;
  uint64_t seed = 0, offset = 0;
  uint32_t dimensions = 1;  // of Sobol generators
  CUstream stream = nullptr;
  std::shared_ptr<ptx2cpu::libraries::RandomSequences> sequences =
      nullptr;                                                           // made when a number is first needed
  std::shared_ptr<const ptx2cpu::libraries::Poisson> poisson = nullptr;  // of the last call
};

namespace ptx2cpu::curand {

namespace {

using libraries::RandomSequences;

bool IsQuasi(RandomEngine engine) {
  return engine == RandomEngine::kSobol32 || engine == RandomEngine::kSobol64;
}
// Normal numbers of these come two at a time.
bool DrawsPairs(RandomEngine engine) {
  return engine == RandomEngine::kXorwow || engine == RandomEngine::kXorwowSeeded ||
         engine == RandomEngine::kMrg32k3a || engine == RandomEngine::kMrg32k3aLegacy;
}
std::shared_ptr<RandomSequences> SequencesOf(const curandGenerator_st& generator) {
  if (!IsQuasi(generator.engine))
    return libraries::MakeSequences(generator.engine, generator.seed, generator.offset);
  const int bits = generator.engine == RandomEngine::kSobol32 ? 32 : 64;
  return libraries::MakeSobol(bits, generator.dimensions, generator.offset);
}

bool HasOffset(RandomEngine engine) {
  return engine != RandomEngine::kTwister && engine != RandomEngine::kMtgp &&
         engine != RandomEngine::kMtgpLegacy;
}

curandStatus_t Refuse(const char* why) {
  std::fprintf(stderr, "ptx2cpu: curandCreateGenerator: %s: returns CURAND_STATUS_TYPE_ERROR\n", why);
  return CURAND_STATUS_TYPE_ERROR;
}

curandStatus_t Create(curandGenerator_t* generator, curandRngType_t type, bool on_host) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  if (type == CURAND_RNG_QUASI_SCRAMBLED_SOBOL32 || type == CURAND_RNG_QUASI_SCRAMBLED_SOBOL64) {
    return Refuse(
        "CURAND_RNG_QUASI_SCRAMBLED_SOBOL32 and CURAND_RNG_QUASI_SCRAMBLED_SOBOL64 are not supported, since "
        "their random matrices are a table of another library");
  }
  const auto row = std::ranges::find(kEngines, type, &EngineRow::type);
  if (row == std::end(kEngines)) return CURAND_STATUS_TYPE_ERROR;
  if (row->usual == RandomEngine::kMtgp && libraries::KnownMtgpParameters() == nullptr) {
    return Refuse(
        "CURAND_RNG_PSEUDO_MTGP32 needs the table of its parameters: curand_mtgp32dc_p_11213.h of a CUDA "
        "toolkit (CUDA_HOME, /usr/local/cuda), or a file with the authors' table that PTX2CPU_MTGP32 names");
  }
  if (libraries::Begin() != CUDA_SUCCESS) return CURAND_STATUS_INITIALIZATION_FAILED;
  *generator = new curandGenerator_st{.row = &*row, .engine = row->usual, .on_host = on_host};
  return CURAND_STATUS_SUCCESS;
}

// fill(sequences) on the generator's stream; a host generator's results are there when it returns.
template <typename Fill>
curandStatus_t Draw(const char* name, curandGenerator_t generator, const void* to, size_t count,
                    const Fill& fill) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  if (IsQuasi(generator->engine) && count % generator->dimensions != 0)
    return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  if (to == nullptr) return CURAND_STATUS_LAUNCH_FAILURE;
  if (generator->sequences == nullptr) generator->sequences = SequencesOf(*generator);
  const CUresult error = libraries::Submit(generator->stream, name,
                                           [fill, sequences = generator->sequences] { fill(*sequences); });
  if (error != CUDA_SUCCESS) return CURAND_STATUS_LAUNCH_FAILURE;
  if (generator->on_host && libraries::Synchronize(generator->stream) != CUDA_SUCCESS)
    return CURAND_STATUS_LAUNCH_FAILURE;
  return CURAND_STATUS_SUCCESS;
}

template <typename T>
curandStatus_t DrawNormal(const char* name, curandGenerator_t generator, T* to, size_t count, T mean,
                          T deviation, bool logarithmic) {
  if (generator != nullptr && DrawsPairs(generator->engine) && count % 2 != 0)
    return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  return Draw(name, generator, to, count, [=](RandomSequences& sequences) {
    sequences.Normal(to, static_cast<int64_t>(count));
    for (size_t i = 0; i < count; ++i) {
      to[i] = mean + deviation * to[i];
      if (logarithmic) to[i] = std::exp(to[i]);
    }
  });
}

}  // namespace

curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t rng_type) {
  return Create(generator, rng_type, false);
}
curandStatus_t curandCreateGeneratorHost(curandGenerator_t* generator, curandRngType_t rng_type) {
  return Create(generator, rng_type, true);
}
curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  delete generator;
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  generator->stream = stream;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  if (IsQuasi(generator->engine)) return CURAND_STATUS_TYPE_ERROR;
  generator->seed = seed;
  generator->sequences = nullptr;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  if (!HasOffset(generator->engine)) return CURAND_STATUS_TYPE_ERROR;
  generator->offset = offset;
  generator->sequences = nullptr;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t order) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  if (IsQuasi(generator->engine))
    return order == CURAND_ORDERING_QUASI_DEFAULT ? CURAND_STATUS_SUCCESS : CURAND_STATUS_OUT_OF_RANGE;
  const EngineRow& row = *generator->row;
  RandomEngine engine = row.usual;
  switch (order) {
    case CURAND_ORDERING_PSEUDO_BEST:
    case CURAND_ORDERING_PSEUDO_DEFAULT:
      break;
    case CURAND_ORDERING_PSEUDO_LEGACY:
      engine = row.legacy;
      break;
    case CURAND_ORDERING_PSEUDO_SEEDED:
      if (!row.seeded) return CURAND_STATUS_OUT_OF_RANGE;
      engine = *row.seeded;
      break;
    case CURAND_ORDERING_PSEUDO_DYNAMIC:
      if (!row.has_dynamic) return CURAND_STATUS_OUT_OF_RANGE;
      break;
    default:
      return CURAND_STATUS_OUT_OF_RANGE;
  }
  generator->engine = engine;
  generator->sequences = nullptr;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetQuasiRandomGeneratorDimensions(curandGenerator_t generator,
                                                       unsigned int num_dimensions) {
  constexpr unsigned kMaxDimensions = 20000;
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  if (!IsQuasi(generator->engine)) return CURAND_STATUS_TYPE_ERROR;
  if (num_dimensions == 0 || num_dimensions > kMaxDimensions) return CURAND_STATUS_OUT_OF_RANGE;
  if (num_dimensions > libraries::kSobolDimensions) {
    std::fprintf(
        stderr,
        "ptx2cpu: curandSetQuasiRandomGeneratorDimensions: %u dimensions are not supported, only %u: "
        "returns CURAND_STATUS_OUT_OF_RANGE\n",
        num_dimensions, libraries::kSobolDimensions);
    return CURAND_STATUS_OUT_OF_RANGE;
  }
  generator->dimensions = num_dimensions;
  generator->sequences = nullptr;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGenerateSeeds(curandGenerator_t generator) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  generator->sequences = SequencesOf(*generator);
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandGetVersion(int* version) {
  if (version == nullptr) return CURAND_STATUS_OUT_OF_RANGE;
  *version = 10400;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGetProperty(libraryPropertyType type, int* value) {
  constexpr int kNumbers[] = {10, 4, 0};
  if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL) return CURAND_STATUS_OUT_OF_RANGE;
  *value = kNumbers[type];
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandGenerate(curandGenerator_t generator, unsigned int* outputPtr, size_t num) {
  if (generator != nullptr && generator->engine == RandomEngine::kSobol64) return CURAND_STATUS_TYPE_ERROR;
  return Draw("curandGenerate", generator, outputPtr, num,
              [=](RandomSequences& sequences) { sequences.Bits(outputPtr, static_cast<int64_t>(num)); });
}
// Only Sobol generators of 64 bits have it.
curandStatus_t curandGenerateLongLong(curandGenerator_t generator, unsigned long long* outputPtr,
                                      size_t num) {
  if (generator != nullptr && generator->engine != RandomEngine::kSobol64) return CURAND_STATUS_TYPE_ERROR;
  auto* const words = reinterpret_cast<uint64_t*>(outputPtr);
  return Draw("curandGenerateLongLong", generator, outputPtr, num,
              [=](RandomSequences& sequences) { sequences.LongBits(words, static_cast<int64_t>(num)); });
}
curandStatus_t curandGenerateUniform(curandGenerator_t generator, float* outputPtr, size_t num) {
  return Draw("curandGenerateUniform", generator, outputPtr, num,
              [=](RandomSequences& sequences) { sequences.Uniform(outputPtr, static_cast<int64_t>(num)); });
}
curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double* outputPtr, size_t num) {
  return Draw("curandGenerateUniformDouble", generator, outputPtr, num,
              [=](RandomSequences& sequences) { sequences.Uniform(outputPtr, static_cast<int64_t>(num)); });
}
curandStatus_t curandGenerateNormal(curandGenerator_t generator, float* outputPtr, size_t n, float mean,
                                    float stddev) {
  return DrawNormal("curandGenerateNormal", generator, outputPtr, n, mean, stddev, false);
}
curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double* outputPtr, size_t n,
                                          double mean, double stddev) {
  return DrawNormal("curandGenerateNormalDouble", generator, outputPtr, n, mean, stddev, false);
}
curandStatus_t curandGenerateLogNormal(curandGenerator_t generator, float* outputPtr, size_t n, float mean,
                                       float stddev) {
  return DrawNormal("curandGenerateLogNormal", generator, outputPtr, n, mean, stddev, true);
}
curandStatus_t curandGenerateLogNormalDouble(curandGenerator_t generator, double* outputPtr, size_t n,
                                             double mean, double stddev) {
  return DrawNormal("curandGenerateLogNormalDouble", generator, outputPtr, n, mean, stddev, true);
}

curandStatus_t curandGeneratePoisson(curandGenerator_t generator, unsigned int* outputPtr, size_t n,
                                     double lambda) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  if (!(lambda > 0 && lambda <= libraries::Poisson::kMaxMean)) return CURAND_STATUS_OUT_OF_RANGE;
  if (generator->poisson == nullptr || generator->poisson->mean() != lambda)
    generator->poisson = std::make_shared<const libraries::Poisson>(lambda);
  return Draw("curandGeneratePoisson", generator, outputPtr, n,
              [=, poisson = generator->poisson](RandomSequences& sequences) {
                sequences.Counts(outputPtr, static_cast<int64_t>(n), *poisson);
              });
}

}  // namespace ptx2cpu::curand

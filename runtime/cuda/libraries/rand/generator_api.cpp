// Generators and their numbers.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "curand_api.h"
#include "runtime/cuda/libraries/core/stream_call.h"
#include "runtime/cuda/libraries/rand/poisson.h"
#include "runtime/cuda/libraries/rand/quasi.h"
#include "runtime/cuda/libraries/rand/sequences.h"

// Work that is queued keeps the sequences that it draws from.
struct ptx2cpu::cuda::curandGenerator_st {
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

using libraries::RandomEngine;
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

curandStatus_t Create(curandGenerator_t* generator, curandRngType_t type, bool on_host) {
  struct TypeRow {
    curandRngType_t type;
    RandomEngine engine;
  };
  constexpr TypeRow kTypes[] = {{CURAND_RNG_PSEUDO_DEFAULT, RandomEngine::kXorwow},
                                {CURAND_RNG_PSEUDO_XORWOW, RandomEngine::kXorwow},
                                {CURAND_RNG_PSEUDO_MRG32K3A, RandomEngine::kMrg32k3a},
                                {CURAND_RNG_PSEUDO_PHILOX4_32_10, RandomEngine::kPhilox},
                                {CURAND_RNG_PSEUDO_MT19937, RandomEngine::kTwister},
                                {CURAND_RNG_QUASI_DEFAULT, RandomEngine::kSobol32},
                                {CURAND_RNG_QUASI_SOBOL32, RandomEngine::kSobol32},
                                {CURAND_RNG_QUASI_SOBOL64, RandomEngine::kSobol64}};
  struct RefusedRow {
    curandRngType_t type;
    const char* name;
  };
  constexpr RefusedRow kRefused[] = {
      {CURAND_RNG_PSEUDO_MTGP32, "CURAND_RNG_PSEUDO_MTGP32"},
      {CURAND_RNG_QUASI_SCRAMBLED_SOBOL32, "CURAND_RNG_QUASI_SCRAMBLED_SOBOL32"},
      {CURAND_RNG_QUASI_SCRAMBLED_SOBOL64, "CURAND_RNG_QUASI_SCRAMBLED_SOBOL64"}};
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  const auto row = std::ranges::find(kTypes, type, &TypeRow::type);
  if (row == std::end(kTypes)) {
    const auto refused = std::ranges::find(kRefused, type, &RefusedRow::type);
    if (refused != std::end(kRefused)) {
      std::fprintf(stderr,
                   "ptx2cpu: curandCreateGenerator: %s is not supported, since its parameters are tables of "
                   "others: returns CURAND_STATUS_TYPE_ERROR\n",
                   refused->name);
    }
    return CURAND_STATUS_TYPE_ERROR;
  }
  if (libraries::Begin() != CUDA_SUCCESS) return CURAND_STATUS_INITIALIZATION_FAILED;
  *generator = new curandGenerator_st{.engine = row->engine, .on_host = on_host};
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
  if (generator->engine == RandomEngine::kTwister) return CURAND_STATUS_TYPE_ERROR;
  generator->offset = offset;
  generator->sequences = nullptr;
  return CURAND_STATUS_SUCCESS;
}
// The order of BEST, DEFAULT and DYNAMIC is one; LEGACY differs for MRG32k3a alone. Only XORWOW has SEEDED.
curandStatus_t curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t order) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  if (IsQuasi(generator->engine))
    return order == CURAND_ORDERING_QUASI_DEFAULT ? CURAND_STATUS_SUCCESS : CURAND_STATUS_OUT_OF_RANGE;
  if (order < CURAND_ORDERING_PSEUDO_BEST || order > CURAND_ORDERING_PSEUDO_DYNAMIC)
    return CURAND_STATUS_OUT_OF_RANGE;
  if (generator->engine == RandomEngine::kTwister && order == CURAND_ORDERING_PSEUDO_DYNAMIC)
    return CURAND_STATUS_OUT_OF_RANGE;
  const bool seeded = order == CURAND_ORDERING_PSEUDO_SEEDED;
  if (generator->engine == RandomEngine::kXorwow || generator->engine == RandomEngine::kXorwowSeeded)
    generator->engine = seeded ? RandomEngine::kXorwowSeeded : RandomEngine::kXorwow;
  else if (seeded)
    return CURAND_STATUS_OUT_OF_RANGE;
  if (generator->engine == RandomEngine::kMrg32k3a || generator->engine == RandomEngine::kMrg32k3aLegacy) {
    generator->engine =
        order == CURAND_ORDERING_PSEUDO_LEGACY ? RandomEngine::kMrg32k3aLegacy : RandomEngine::kMrg32k3a;
  }
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

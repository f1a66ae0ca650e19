// Random numbers in cuRAND's order: item k of a call is drawn by sequence (first + k) modulo their number,
// which continues where its last draw ended; the next call begins with the sequence after the last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace ptx2cpu::libraries {

class Poisson;

enum class RandomEngine : uint8_t {
  kXorwow,
  kXorwowSeeded,
  kMrg32k3a,
  kMrg32k3aLegacy,
  kPhilox,
  kTwister,
  kMtgp,
  kMtgpLegacy,
  kSobol32,
  kSobol64
};

class RandomSequences {
 public:
  virtual ~RandomSequences() = default;
  virtual void Bits(uint32_t* to, int64_t count) = 0;
  // Only for kSobol64; false: nothing is written.
  virtual bool LongBits(uint64_t*, int64_t) { return false; }
  // In (0, 1].
  virtual void Uniform(float* to, int64_t count) = 0;
  virtual void Uniform(double* to, int64_t count) = 0;
  // Normal numbers of mean 0 and deviation 1, by G. Box and M. Muller, A Note on the Generation of Random
  // Normal Deviates (1958).
  virtual void Normal(float* to, int64_t count) = 0;
  virtual void Normal(double* to, int64_t count) = 0;
  virtual void Counts(uint32_t* to, int64_t count, const Poisson& poisson) = 0;
};

// From the number `offset` of the order on; twisters have none, and MTGP wants known parameters (mtgp.h). Not
// of Sobol engines: quasi.h.
std::unique_ptr<RandomSequences> MakeSequences(RandomEngine engine, uint64_t seed, uint64_t offset);

}  // namespace ptx2cpu::libraries

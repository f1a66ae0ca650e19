// Generators of cuRAND, and their numbers against records.
#pragma once

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "cudart_api.h"
#include "runtime/cuda/abi/curand_types.h"
#include "tests/libraries/dropin.h"

namespace ptx2cpu::curand_case {

using namespace ptx2cpu::cuda;

inline const DropIn& Curand() {
  static const DropIn library("libcurand.so.10");
  return library;
}

struct Record {
  size_t bytes = 0;
  uint64_t hash = 0;
  std::map<size_t, uint64_t> places;
};
inline std::map<std::string, Record> Records(const std::string& generator,
                                             const std::string& file = "curand.gpu") {
  std::map<std::string, Record> records;
  std::ifstream in(PTX2CPU_SOURCE_DIR "/tests/libraries/" + file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string engine, name, place;
    Record record;
    if (!(words >> engine >> name >> record.bytes >> std::hex >> record.hash) || engine != generator)
      continue;
    while (words >> place) {
      const size_t colon = place.find(':');
      record.places[std::stoull(place.substr(0, colon))] = std::stoull(place.substr(colon + 1), nullptr, 16);
    }
    records[name] = record;
  }
  return records;
}

inline uint64_t Fnv1a(const void* data, size_t bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < bytes; ++i)
    hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3;
  return hash;
}

// A generator of the seed of the records.
class Generator {
 public:
  explicit Generator(int type, bool on_host = false, bool has_seed = true) {
    REQUIRE(Curand().Call(on_host ? "curandCreateGeneratorHost" : "curandCreateGenerator", &handle_, type) ==
            0);
    if (has_seed) Set("curandSetPseudoRandomGeneratorSeed", 1234ULL);
  }
  ~Generator() { Curand().Call("curandDestroyGenerator", handle_); }
  template <typename T>
  void Set(const std::string& name, T value) {
    REQUIRE(Curand().Call(name, handle_, value) == 0);
  }
  template <typename T, typename... Args>
  std::vector<T> Draw(const std::string& name, size_t count, Args... args) {
    std::vector<T> values(count);
    REQUIRE(Curand().Call(name, handle_, values.data(), count, args...) == 0);
    REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
    return values;
  }
  curandGenerator_t handle() const { return handle_; }

 private:
  curandGenerator_t handle_ = nullptr;
};

template <typename T>
void CheckExact(const std::map<std::string, Record>& records, const std::string& name,
                const std::vector<T>& found) {
  INFO(name);
  const Record& record = records.at(name);
  REQUIRE(record.bytes == found.size() * sizeof(T));
  for (const auto& [place, bits] : record.places) {
    INFO("place " << place);
    uint64_t own = 0;
    std::memcpy(&own, &found[place], sizeof(T));
    CHECK(own == bits);
  }
  CHECK(Fnv1a(found.data(), record.bytes) == record.hash);
}
template <typename T>
void CheckNear(const std::map<std::string, Record>& records, const std::string& name,
               const std::vector<T>& found) {
  INFO(name);
  const Record& record = records.at(name);
  REQUIRE(record.bytes == found.size() * sizeof(T));
  for (const auto& [place, bits] : record.places) {
    T expected;
    std::memcpy(&expected, &bits, sizeof(T));
    INFO("place " << place << ": " << found[place] << " for " << expected);
    // The device's fast sine and cosine of floats are right to 2^-21.
    CHECK(std::abs(found[place] - expected) <= (sizeof(T) == 4 ? 1e-5 : 1e-14) * (1 + std::abs(expected)));
  }
}

template <typename T>
void Append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace ptx2cpu::curand_case

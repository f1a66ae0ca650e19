#include "runtime/cuda/driver/code/load.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <string_view>

#include "runtime/cuda/driver/code/saved_images.h"
#include "runtime/cuda/driver/context/device.h"
#include "runtime/cuda/driver/core/errors.h"
#include "runtime/engine/linked_image.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

constexpr uint32_t kWrapperMagic = 0x466243B1, kContainerMagic = 0xBA55ED50, kElfMagic = 0x464C457F,
                   kLtoMagic = 0x7F4E43ED;

uint32_t WordAt(const void* image) {
  uint32_t word;
  std::memcpy(&word, image, sizeof word);
  return word;
}

// Chooses as the reported device would. If that finds nothing and the user has not requested that device,
// takes any PTX.
template <typename Read>
auto ForDevice(Read read) {
  auto sources = read(Devices::Get().compute_capability());
  const bool none = !sources && sources.error().code == ErrorCode::kNoPtx;
  return none && !Devices::Get().strict_images() ? read(0) : std::move(sources);
}

void WarnOnce(const std::string& text) {
  static std::mutex mutex;
  static auto* const printed = new std::set<std::string>;
  constexpr size_t kMax = 100;  // further errors of a program that retries forever are not reported
  std::lock_guard lock(mutex);
  if (printed->size() < kMax && printed->insert(text).second)
    std::fprintf(stderr, "ptx2cpu: %s", text.c_str());
}

void Apply(const JitOptions& options, Sources& sources) {
  for (rt::ModuleSource& source : sources) options.ApplyTo(source.options);
}

}  // namespace

bool LoadsEagerly() {
  static const bool eager = [] {
    const char* text = std::getenv("CUDA_MODULE_LOADING");
    return text != nullptr && std::string_view(text) == "EAGER";
  }();
  return eager;
}

bool IsPtxText(const void* image) {
  const uint32_t word = WordAt(image);
  return word != kWrapperMagic && word != kContainerMagic && word != kElfMagic && word != kLtoMagic &&
         !rt::IsLinkedImage(image);
}

CUresult Failed(const Error& error, JitOptions& options) {
  const std::string text = rt::JitLog(error);
  options.WriteError(text);
  const bool is_surprise = error.code == ErrorCode::kNoPtx || error.code == ErrorCode::kUnsupported ||
                           error.code == ErrorCode::kLaunch;
  if (!options.has_error_log() && is_surprise) WarnOnce(text);
  return ResultOf(error);
}

Result<Sources> SourcesOfImage(const void* image) {
  return Sources{TRY(ForDevice([&](uint32_t sm) {
    return rt::IsLinkedImage(image) ? rt::SourceOfLinkedImage(image, sm)
                                    : rt::SourceInMemory(image, sm, "module");
  }))};
}

CUresult LoadImage(const char* call, const void* image, JitOptions& options, Sources& sources) {
  auto found = SourcesOfImage(image);
  if (!IsSavedRegistration(image)) SaveLoaded(call, found);
  if (!found) return Failed(found.error(), options);
  sources = *std::move(found);
  Apply(options, sources);
  return CUDA_SUCCESS;
}

CUresult LoadFile(const char* call, const std::filesystem::path& file, JitOptions& options,
                  Sources& sources) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(file, none)) return CUDA_ERROR_FILE_NOT_FOUND;
  char head[8] = {};
  std::ifstream in(file, std::ios::binary);
  if (in.read(head, sizeof head) && rt::IsLinkedImage(head)) {
    std::ostringstream rest;
    rest << in.rdbuf();
    return LoadImage(call, (std::string(head, sizeof head) + rest.str()).data(), options, sources);
  }
  auto found = ForDevice([&](uint32_t sm) { return rt::SourcesInFile(file, sm); });
  SaveLoaded(call, found);
  if (!found) return Failed(found.error(), options);
  sources = *std::move(found);
  Apply(options, sources);
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver

#include "runtime/driver/load.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <string_view>

#include "runtime/driver/device.h"
#include "runtime/driver/errors.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

constexpr uint32_t kWrapperMagic = 0x466243B1, kContainerMagic = 0xBA55ED50, kElfMagic = 0x464C457F, kLtoMagic = 0x7F4E43ED;
// A linked image: this, the number of texts, then for each the two lengths, the name and the text.
constexpr char kLinkedMagic[8] = {'P', 'T', 'X', '2', 'L', 'I', 'N', 'K'};

void AppendWord(std::string& to, uint64_t word) { to.append(reinterpret_cast<const char*>(&word), sizeof word); }

uint64_t TakeWord(const char*& at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  at += sizeof word;
  return word;
}

rt::ModuleSource ReadLinkedImage(const char* at) {
  rt::ModuleSource source;
  at += sizeof kLinkedMagic;
  for (uint64_t left = TakeWord(at); left > 0; --left) {
    const uint64_t name = TakeWord(at), text = TakeWord(at);
    source.texts.push_back({std::string(at + name, text), std::string(at, name)});
    at += name + text;
  }
  return source;
}

uint32_t WordAt(const void* image) {
  uint32_t word;
  std::memcpy(&word, image, sizeof word);
  return word;
}

bool IsLinkedImage(const void* image) { return std::memcmp(image, kLinkedMagic, 4) == 0 && std::memcmp(image, kLinkedMagic, sizeof kLinkedMagic) == 0; }

// Chooses as the reported device would; where that finds nothing and nobody asked for that device, takes what there is.
template <typename Read>
auto ForDevice(Read read) {
  auto sources = read(Devices::Get().compute_capability());
  const bool none = !sources && sources.error().code == ErrorCode::kNoPtx;
  return none && !Devices::Get().strict_images() ? read(0) : std::move(sources);
}

void SayOnce(const std::string& text) {
  static std::mutex mutex;
  static auto* const said = new std::set<std::string>;
  constexpr size_t kMost = 100;  // a program that tries without end is told no more
  std::lock_guard lock(mutex);
  if (said->size() < kMost && said->insert(text).second) std::fprintf(stderr, "ptx2cpu: %s", text.c_str());
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
  return word != kWrapperMagic && word != kContainerMagic && word != kElfMagic && word != kLtoMagic && !IsLinkedImage(image);
}

CUresult Failed(const Error& error, JitOptions& options) {
  const std::string text = rt::JitLog(error);
  options.WriteError(text);
  if (!options.has_error_log() && (error.code == ErrorCode::kNoPtx || error.code == ErrorCode::kUnsupported)) SayOnce(text);
  return ResultOf(error);
}

CUresult LoadImage(const void* image, JitOptions& options, Sources& sources) {
  if (IsLinkedImage(image)) {
    sources = {ReadLinkedImage(static_cast<const char*>(image))};
  } else {
    auto source = ForDevice([&](uint32_t sm) { return rt::SourceInMemory(image, sm, "module"); });
    if (!source) return Failed(source.error(), options);
    sources = {*std::move(source)};
  }
  Apply(options, sources);
  return CUDA_SUCCESS;
}

CUresult LoadFile(const std::filesystem::path& file, JitOptions& options, Sources& sources) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(file, none)) return CUDA_ERROR_FILE_NOT_FOUND;
  char head[sizeof kLinkedMagic] = {};
  std::ifstream in(file, std::ios::binary);
  if (in.read(head, sizeof head) && IsLinkedImage(head)) {
    std::ostringstream rest;
    rest << in.rdbuf();
    const std::string image = std::string(head, sizeof head) + rest.str();
    sources = {ReadLinkedImage(image.data())};
  } else {
    auto found = ForDevice([&](uint32_t sm) { return rt::SourcesInFile(file, sm); });
    if (!found) return Failed(found.error(), options);
    sources = *std::move(found);
  }
  Apply(options, sources);
  return CUDA_SUCCESS;
}

std::string MakeLinkedImage(std::span<const rt::PtxText> texts) {
  std::string image(kLinkedMagic, sizeof kLinkedMagic);
  AppendWord(image, texts.size());
  for (const rt::PtxText& text : texts) {
    AppendWord(image, text.name.size());
    AppendWord(image, text.text.size());
    image += text.name + text.text;
  }
  return image;
}

}  // namespace ptx2cpu::driver

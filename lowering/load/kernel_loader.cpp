#include "lowering/load/kernel_loader.h"

#include <cmath>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "lowering/load/kernel_descriptor.h"
#include "lowering/load/loaded_object.h"
#include "lowering/load/variable_storage.h"

namespace ptx2cpu::lowering {

namespace {

// The functions that code generation itself may call; all others must be entry points.
const ptx2cpu_entry_point kLibraryCalls[] = {
    {"memcpy", reinterpret_cast<void*>(&std::memcpy)},
    {"memset", reinterpret_cast<void*>(&std::memset)},
    {"memmove", reinterpret_cast<void*>(&std::memmove)},
    {"memcmp", reinterpret_cast<void*>(&std::memcmp)},
    {"fma", reinterpret_cast<void*>(static_cast<double (*)(double, double, double)>(&std::fma))},
    {"fmaf", reinterpret_cast<void*>(static_cast<float (*)(float, float, float)>(&std::fma))},
};

}  // namespace

struct KernelLoader::State {
  // A kernel that was loaded, with its code.
  struct Loaded : DescribedKernel {
    using DescribedKernel::DescribedKernel;
    std::unique_ptr<LoadedObject> object;
  };

  mutable std::mutex mutex;
  std::unordered_map<std::string_view, const void*> functions;
  VariableStorage storage;
  std::deque<Loaded> kernels;
  std::deque<DescribedKernel> described;

  const void* Resolve(std::string_view name) const {
    if (const auto found = functions.find(name); found != functions.end()) return found->second;
    return storage.Find(name);
  }
};

KernelLoader::KernelLoader(std::span<const ptx2cpu_entry_point> entry_points)
    : state_(std::make_unique<State>()) {
  for (const ptx2cpu_entry_point& entry : entry_points) state_->functions.emplace(entry.name, entry.address);
  for (const ptx2cpu_entry_point& entry : kLibraryCalls) state_->functions.emplace(entry.name, entry.address);
}
KernelLoader::~KernelLoader() = default;

Status KernelLoader::Declare(const std::vector<VariableImage>& variables) {
  std::lock_guard lock(state_->mutex);
  const auto added = TRY(state_->storage.Provide(variables, false));
  return state_->storage.Relocate(added);
}

Result<LoadedKernel> KernelLoader::Load(KernelImage image) {
  std::lock_guard lock(state_->mutex);
  State& s = *state_;
  for (const VariableImage& variable : image.variables) {
    if (variable.is_extern && s.storage.Find(variable.name) == nullptr)
      return Fail(ErrorCode::kNotFound, "variable " + variable.name + " is declared but not defined");
  }
  const auto added = TRY(s.storage.Provide(image.variables, true));
  auto object = LoadedObject::Load(image.object, [&](std::string_view name) { return s.Resolve(name); });
  if (object && (*object)->AddressOf(image.entry) == 0)
    object = Fail(ErrorCode::kInternal, "the object file has no symbol " + image.entry);
  if (!object) {
    object.error().message = "kernel " + image.name + ": " + object.error().message;
    return Fail(std::move(object).error());
  }
  TRY_STATUS(s.storage.Relocate(added));
  // `added` points into the image: from here on it may move.
  State::Loaded& loaded = s.kernels.emplace_back(std::move(image));
  loaded.object = *std::move(object);
  loaded.image.variables = {};
  loaded.Describe(loaded.object->AddressOf(loaded.image.entry));
  const uint64_t begin = loaded.object->text_begin();
  const auto bytes = std::as_bytes(std::span(loaded.image.object));
  return LoadedKernel{&loaded.descriptor, bytes, begin, begin + loaded.object->text_size()};
}

const ptx2cpu_kernel* KernelLoader::Describe(KernelImage image) {
  std::lock_guard lock(state_->mutex);
  DescribedKernel& described = state_->described.emplace_back(std::move(image));
  described.Describe(0);
  return &described.descriptor;
}

std::byte* KernelLoader::Variable(std::string_view name) const {
  std::lock_guard lock(state_->mutex);
  return state_->storage.Find(name);
}

std::vector<std::pair<std::string, std::span<std::byte>>> KernelLoader::Variables() const {
  std::lock_guard lock(state_->mutex);
  return state_->storage.All();
}

Status KernelLoader::Bind(std::string_view name, std::byte* address, Contents contents) {
  std::lock_guard lock(state_->mutex);
  if (state_->storage.Bind(name, address, contents == Contents::kKeep)) return {};
  return Fail(ErrorCode::kUsage, "variable " + std::string(name) + " has storage already");
}

std::optional<KernelLoader::Place> KernelLoader::PlaceOf(uintptr_t pc) const {
  std::lock_guard lock(state_->mutex);
  for (const State::Loaded& loaded : state_->kernels) {
    const uint64_t begin = loaded.object->text_begin();
    if (pc >= begin && pc - begin < loaded.object->text_size()) return Place{&loaded.image, pc - begin};
  }
  return std::nullopt;
}

}  // namespace ptx2cpu::lowering

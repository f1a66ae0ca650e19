#include "runtime/cuda/driver/launch/recorder.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "runtime/cuda/driver/code/function.h"
#include "runtime/cuda/driver/core/errors.h"
#include "runtime/cuda/driver/image/texture.h"
#include "runtime/cuda/driver/image/texture_reference.h"
#include "runtime/cuda/driver/memory/allocations.h"
#include "runtime/cuda/driver/memory/memory_probe.h"
#include "runtime/device/device_services.h"
#include "runtime/recording/writer.h"
#include "runtime/stream/turns.h"

namespace ptx2cpu::driver {

namespace {

using rt::recording::Area;
using rt::recording::LaunchRecord;
using rt::recording::NamedPlace;
using rt::recording::Writer;

const char* NameOf(RangeKind kind) {
  switch (kind) {
    case RangeKind::kDevice:
    case RangeKind::kPitched:
      return "device memory";
    case RangeKind::kPinned:
      return "pinned memory";
    case RangeKind::kRegistered:
      return "registered memory";
    case RangeKind::kManaged:
      return "managed memory";
    case RangeKind::kArray:
      return "array";
    case RangeKind::kPool:
      return "memory of a pool";
    case RangeKind::kVirtual:
      return "mapped memory";
    case RangeKind::kModule:
      return "module memory";
  }
  return "";
}

// The command line, with a space after each word.
std::string CommandLine() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string line{std::istreambuf_iterator<char>(in), {}};
  std::ranges::replace(line, '\0', ' ');
  return line;
}

std::span<const std::byte> BytesOf(const Area& area) {
  return {reinterpret_cast<const std::byte*>(area.address), area.bytes};
}

// Areas by address. One that overlaps an earlier one is part of it: a variable for which the program asked.
class Areas {
 public:
  void Add(uint64_t address, uint64_t bytes, uint64_t order, std::string what) {
    if (bytes == 0 || Holds(address) || !Readable(reinterpret_cast<const void*>(address), bytes)) return;
    areas_.emplace(address, Area{address, bytes, order, std::move(what), {}, {}});
  }
  template <typename Object>
  void AddImages(const char* what) {
    for (const void* object : Handles::Get().All(Object::kKind)) {
      const auto& device = static_cast<const Object*>(object)->device;
      Add(reinterpret_cast<uint64_t>(&device), sizeof device, 0, what);
    }
  }
  // Blocks of device malloc, those that are near each other as one.
  void AddHeap(std::span<const rt::DeviceHeap::Block> blocks) {
    for (size_t first = 0, end; first < blocks.size(); first = end) {
      const std::byte* stop = blocks[first].base + blocks[first].bytes;
      for (end = first + 1; end < blocks.size() && blocks[end].base - stop < kNear; ++end)
        stop = blocks[end].base + blocks[end].bytes;
      Add(reinterpret_cast<uint64_t>(blocks[first].base), static_cast<uint64_t>(stop - blocks[first].base), 0,
          "memory of device malloc");
    }
  }
  std::vector<Area> Take() {
    std::vector<Area> taken;
    for (auto& [address, area] : areas_) taken.push_back(std::move(area));
    return taken;
  }

 private:
  static constexpr ptrdiff_t kNear = 64 << 10;
  bool Holds(uint64_t address) const {
    auto next = areas_.upper_bound(address);
    return next != areas_.begin() && address - std::prev(next)->first < std::prev(next)->second.bytes;
  }
  std::map<uint64_t, Area> areas_;
};

bool SameBlock(const rt::DeviceHeap::Block& one, const rt::DeviceHeap::Block& other) {
  return one.base == other.base && one.bytes == other.bytes;
}
constexpr const char* kHeapChanges =
    "it leaves other blocks of device malloc than it found, and their addresses differ from run to run";

// Launches take turns (runtime/stream/turns.h): one at a time calls this.
class Recorder final : public rt::LaunchWitness {
 public:
  explicit Recorder(const char* folder) : folder_(folder) {
    if (const char* launches = std::getenv("PTX2CPU_RECORD_LAUNCHES")) {
      char* end = nullptr;
      first_ = std::strtoull(launches, &end, 10);
      last_ = *end == '-' ? std::strtoull(end + 1, nullptr, 10) : first_;
    }
    const char* outputs = std::getenv("PTX2CPU_RECORD_OUTPUTS");
    with_outputs_ = outputs != nullptr && std::string_view(outputs) == "1";
  }

  std::optional<rt::LaunchError> Around(
      const rt::KernelWork& work, const std::function<std::optional<rt::LaunchError>()>& launch) override {
    if (const pid_t process = getpid(); process != process_) {  // of a child that was forked, too
      process_ = process, next_ = 0, failed_ = false;
      writer_.reset();
    }
    const uint64_t number = next_++;
    if (failed_ || number < first_ || number > last_) return launch();
    LaunchRecord record;
    record.number = number;
    const rt::DeviceServices& services = work.services != nullptr ? *work.services : rt::DefaultServices();
    const std::vector<rt::DeviceHeap::Block> heap = services.heap.BlocksInUse();
    record.heap_bytes = services.limits.heap_bytes;
    const Status before = Begin(work, heap, record);
    std::optional<rt::LaunchError> error = launch();
    if (!std::ranges::equal(heap, services.heap.BlocksInUse(), SameBlock))
      record.not_repeatable = kHeapChanges;
    if (error) record.error = error->message;
    if (const Status status = before ? End(record) : before; !status) {
      failed_ = true;
      Warn("the recording ends: " + status.error().message);
    }
    return error;
  }

 private:
  Status Begin(const rt::KernelWork& work, std::span<const rt::DeviceHeap::Block> heap, LaunchRecord& record);
  Status End(LaunchRecord& record);

  const std::string folder_;
  uint64_t first_ = 0, last_ = ~uint64_t{0};
  bool with_outputs_ = false;
  std::unique_ptr<Writer> writer_;
  pid_t process_ = 0;
  uint64_t next_ = 0;
  bool failed_ = false;
};

Status Recorder::Begin(const rt::KernelWork& work, std::span<const rt::DeviceHeap::Block> heap,
                       LaunchRecord& record) {
  if (writer_ == nullptr) writer_ = std::make_unique<Writer>(TRY(Writer::Make(folder_, CommandLine())));
  const auto& code = *static_cast<const rt::KernelCode*>(work.keep.get());
  rt::KernelModule& module = code.module();
  record.kernel = code.name();
  record.module = TRY(writer_->AddModule(module.texts(), module.options().contract));
  record.shape = work.shape;
  record.cooperative = work.cooperative;
  record.parameters.assign(work.params.bytes().begin(), work.params.bytes().end());
  Areas areas;
  for (const Range& range : Allocations::Get().All())
    areas.Add(range.base, range.size, range.buffer_id, NameOf(range.kind));
  for (const auto& [name, storage] : module.Storage()) {
    const auto address = reinterpret_cast<uint64_t>(storage.data());
    record.places.push_back({name, address});
    areas.Add(address, storage.size(), 0, "variable " + name);
  }
  areas.AddHeap(heap);
  areas.AddImages<TextureObject>("texture");
  areas.AddImages<SurfaceObject>("surface");
  areas.AddImages<TextureReference>("texture reference");
  areas.AddImages<SurfaceReference>("surface reference");
  record.areas = areas.Take();
  for (Area& area : record.areas) area.before = TRY(writer_->AddBytes(BytesOf(area), true));
  return {};
}

Status Recorder::End(LaunchRecord& record) {
  for (Area& area : record.areas) area.after = TRY(writer_->AddBytes(BytesOf(area), with_outputs_));
  return writer_->AddLaunch(record);
}

}  // namespace

rt::LaunchWitness* TheRecorder() {
  static Recorder* const recorder = []() -> Recorder* {
    const char* folder = std::getenv("PTX2CPU_RECORD");
    if (folder == nullptr || *folder == '\0') return nullptr;
    rt::RunOneAtATime();
    return new Recorder(folder);
  }();
  return recorder;
}

}  // namespace ptx2cpu::driver

#include "runtime/profile/profile.h"

#include <algorithm>
#include <string>

#include "runtime/abi/launch_shape.h"
#include "runtime/profile/recorder.h"

namespace ptx2cpu::rt::profile {

namespace {

// Counting may take one part in this many of a kernel's time, after its first launch.
constexpr uint64_t kCountingPart = 100;

void AddShape(CodeRow& row, const Dim3& grid, const Dim3& block, uint32_t shared, uint64_t nanoseconds) {
  const uint32_t words[] = {grid.x, grid.y, grid.z, block.x, block.y, block.z};
  const auto is = [&](const ShapeRow& shape) {
    return std::equal(words, words + 3, shape.grid) && std::equal(words + 3, words + 6, shape.block) &&
           shape.shared == shared;
  };
  ShapeRow* const end = row.shapes + row.shape_count;
  ShapeRow* shape = std::find_if(row.shapes, end, is);
  if (shape == end) {
    if (row.shape_count == kMaxShapes) return void(++row.other_shapes);
    ++row.shape_count;
    std::copy(words, words + 3, shape->grid);
    std::copy(words + 3, words + 6, shape->block);
    shape->shared = shared;
  }
  ++shape->launches;
  shape->nanoseconds += nanoseconds;
}

}  // namespace

uint32_t AddModule(std::span<const std::string_view> texts) {
  Recorder& r = Recorder::Get();
  std::lock_guard lock(r.mutex());
  if (r.file() == nullptr) return kNone;
  const std::string name = "module-" + std::to_string(r.modules) + "-";
  for (size_t n = 0; n < texts.size(); ++n) {
    if (!r.WriteBeside(name + std::to_string(n) + ".ptx", texts[n])) return kNone;
  }
  return r.modules++;
}

void AddCode(const ptx2cpu_kernel& code, CodeRow row, std::string_view image) {
  Recorder& r = Recorder::Get();
  std::lock_guard lock(r.mutex());
  CodeRow* const made = r.NewRow(code);
  if (made == nullptr) return;
  row.name = made->name;
  const std::string number = std::to_string(made - r.file()->codes);
  if (row.module != kNone && !r.WriteBeside("code-" + number + ".image", image)) row.module = kNone;
  *made = row;
}

void RemoveCode(const ptx2cpu_kernel& code) {
  Recorder& r = Recorder::Get();
  std::lock_guard lock(r.mutex());
  if (CodeRow* row = r.KnownRowOf(code)) row->flags |= kUnloaded;
  r.Forget(code);
  r.counting.erase(&code);
}

uint64_t* TakeCounters(size_t words) {
  Recorder& r = Recorder::Get();
  std::lock_guard lock(r.mutex());
  if (r.file() == nullptr || words > kCounterWords - r.file()->counter_words) return nullptr;
  uint64_t* const counters = r.file()->counters + r.file()->counter_words;
  // Counters of different kernels share no line of a cache.
  r.file()->counter_words =
      static_cast<uint32_t>(std::min<size_t>(kCounterWords, r.file()->counter_words + (words + 7) / 8 * 8));
  return counters;
}

uint32_t NumberOf(const uint64_t* counters) {
  return static_cast<uint32_t>(counters - Recorder::Get().file()->counters);
}

void SetCounting(const ptx2cpu_kernel& code, const ptx2cpu_kernel& counting) {
  Recorder& r = Recorder::Get();
  std::lock_guard lock(r.mutex());
  r.counting[&code] = &counting;
}

const ptx2cpu_kernel* TakeCounting(const ptx2cpu_kernel& code, Counted what) {
  Recorder& r = Recorder::Get();
  std::lock_guard lock(r.mutex());
  const auto found = r.counting.find(&code);
  if (found == r.counting.end() || (found->second->run_step == nullptr) != (code.run_step == nullptr))
    return nullptr;
  CodeRow* const row = r.RowOf(code);
  if (row == nullptr) return nullptr;
  if (row->counted_launches != 0 &&
      (what == Counted::kLaunch || row->counted_nanoseconds * kCountingPart >= row->nanoseconds))
    return nullptr;
  ++row->counted_launches;
  return found->second;
}

void AddCounted(const ptx2cpu_kernel& code, uint64_t nanoseconds) {
  Recorder& r = Recorder::Get();
  std::lock_guard lock(r.mutex());
  if (CodeRow* row = r.RowOf(code)) row->counted_nanoseconds += nanoseconds;
}

void AddCompile(std::string_view kernel, uint64_t begin, uint64_t end, uint32_t flags) {
  Recorder& r = Recorder::Get();
  std::lock_guard lock(r.mutex());
  if (r.file() == nullptr || r.file()->compile_count == kMaxCompiles) return;
  r.file()->compiles[r.file()->compile_count++] = {r.TextOf(kernel), flags, begin, end};
  r.file()->last = std::max(r.file()->last, end);
}

void AddEvent(Group group, uint64_t track, std::string_view name, uint64_t begin, uint64_t end,
              uint64_t bytes) {
  Recorder& r = Recorder::Get();
  std::lock_guard lock(r.mutex());
  File* const f = r.file();
  if (f == nullptr) return;
  if (group == Group::kWorkers) f->workers = std::max(f->workers, static_cast<uint32_t>(track) + 1);
  if (CallRow* row = group == Group::kWorkers ? nullptr : r.CallOf(group, name)) {
    ++row->count;
    row->nanoseconds += end - begin;
    row->bytes += bytes;
  }
  if (f->events < kMaxEvents)
    f->event_rows[f->events] = {begin, end, track, static_cast<uint32_t>(group), r.TextOf(name)};
  ++f->events;
  f->begin = std::min(f->begin, begin), f->last = std::max(f->last, end);
}

void LaunchScope::End() {
  const uint64_t now = Now(), nanoseconds = now - begin_;
  Recorder& r = Recorder::Get();
  std::lock_guard lock(r.mutex());
  CodeRow* const row = r.RowOf(code_);
  if (row == nullptr) return;
  row->least = row->launches == 0 ? nanoseconds : std::min(row->least, nanoseconds);
  row->most = std::max(row->most, nanoseconds);
  ++row->launches;
  row->nanoseconds += nanoseconds;
  row->blocks += Volume(grid_), row->threads += Volume(grid_) * Volume(block_);
  AddShape(*row, grid_, block_, shared_, nanoseconds);
  r.file()->last = std::max(r.file()->last, now);
}

}  // namespace ptx2cpu::rt::profile

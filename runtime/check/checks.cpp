#include "runtime/check/checks.h"

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "runtime/check/block_check.h"

namespace ptx2cpu::rt::check {

namespace {

// What is running. Launches and blocks are known by the addresses of what the launcher has for them.
struct Running {
  std::mutex mutex;
  uint64_t launches = 0;
  std::map<const ptx2cpu_launch*, std::unique_ptr<LaunchCheck>> by_launch;
  std::map<const ptx2cpu_block*, std::unique_ptr<BlockCheck>> by_block;
  std::vector<std::unique_ptr<GlobalShadow>> shadows;
  std::vector<GlobalShadow*> idle;  // of these: those that no launch has
};

Running& All() {
  static Running* const running = new Running;  // workers may use it while the process ends
  return *running;
}

std::atomic<uint64_t> changes{1};  // of by_block
struct Recent {
  uint64_t change = 0;
  const ptx2cpu_block* block = nullptr;
  BlockCheck* check = nullptr;
};
thread_local Recent recent;

BlockCheck* CheckOf(const ptx2cpu_block& block) {
  const uint64_t now = changes.load(std::memory_order_acquire);
  if (recent.block == &block && recent.change == now) [[likely]]
    return recent.check;
  Running& all = All();
  std::lock_guard lock(all.mutex);
  const auto found = all.by_block.find(&block);
  recent = {now, &block, found == all.by_block.end() ? nullptr : found->second.get()};
  return recent.check;
}

// The same for what kernels without checks ask for too, whose context may have served a launch with checks.
BlockCheck* CheckOfChecked(const ptx2cpu_block& block) {
  Running& all = All();
  std::lock_guard lock(all.mutex);
  if (!all.by_launch.contains(block.launch)) return nullptr;
  const auto found = all.by_block.find(&block);
  return found == all.by_block.end() ? nullptr : found->second.get();
}

}  // namespace

bool NeedsOneWorker() { return (WantedKinds() & PTX2CPU_CHECKS_RACE) != 0; }

void BeginLaunch(const ptx2cpu_launch* launch, const ptx2cpu_kernel& kernel, const DeviceHeap& heap,
                 std::function<bool(uint64_t, uint64_t)> holds) {
  Running& all = All();
  std::lock_guard lock(all.mutex);
  auto check = std::make_unique<LaunchCheck>();
  check->number = ++all.launches;
  check->kernel = kernel.name;
  check->parameter_bytes = kernel.parameter_bytes;
  check->heap = &heap;
  check->holds = std::move(holds);
  if (all.idle.empty()) all.idle.push_back(all.shadows.emplace_back(std::make_unique<GlobalShadow>()).get());
  check->shadow = all.idle.back();
  all.idle.pop_back();
  all.by_launch[launch] = std::move(check);
}

void EndLaunch(const ptx2cpu_launch* launch) {
  Running& all = All();
  std::lock_guard lock(all.mutex);
  const auto ended = all.by_launch.find(launch);
  if (ended == all.by_launch.end()) return;
  all.idle.push_back(ended->second->shadow);
  all.by_launch.erase(ended);
  changes.fetch_add(1, std::memory_order_release);
}

void AddFault(const ptx2cpu_launch* launch, const Party& party, uintptr_t pc, std::string text) {
  Finding finding;
  finding.error = Error::kFault;
  {
    Running& all = All();
    std::lock_guard lock(all.mutex);
    const LaunchCheck& check = *all.by_launch.at(launch);
    if (check.freed_badly == party.block) return;
    finding.kernel = check.kernel;
  }
  finding.party = party;
  finding.pc = pc;
  finding.text = std::move(text);
  Findings::Get().Add(std::move(finding));
}

// A block's context serves many blocks, one after the other: its record stays.
void BeginBlock(ptx2cpu_block& block) {
  if (recent.block == &block && recent.check != nullptr && recent.check->Serves(block) &&
      recent.change == changes.load(std::memory_order_acquire))
    return recent.check->Begin(block);
  Running& all = All();
  LaunchCheck* launch = nullptr;
  BlockCheck* check = nullptr;
  {
    std::lock_guard lock(all.mutex);
    launch = all.by_launch.at(block.launch).get();
    std::unique_ptr<BlockCheck>& place = all.by_block[&block];
    if (place == nullptr) {
      place = std::make_unique<BlockCheck>();
      changes.fetch_add(1, std::memory_order_release);
    }
    check = place.get();
  }
  check->Join(*launch, block);
  check->Begin(block);
  recent = {changes.load(std::memory_order_acquire), &block, check};
}

void EndBlock(const ptx2cpu_block& block) {
  if (BlockCheck* check = CheckOf(block)) check->End(block);
}

void OnAccesses(const ptx2cpu_block& block, const Accesses& accesses) {
  if (BlockCheck* check = CheckOf(block)) check->Access(block, accesses);
}

void OnSync(const ptx2cpu_block& block, const Steps& steps) {
  if (BlockCheck* check = CheckOf(block)) check->Sync(block, steps);
}

void OnFree(const ptx2cpu_block& block, uint32_t thread, uint32_t ptx_line, uint64_t pointer) {
  BlockCheck* check = CheckOf(block);
  if (check == nullptr || check->Free(block, thread, ptx_line, pointer)) return;
  Running& all = All();
  std::lock_guard lock(all.mutex);
  all.by_launch.at(block.launch)->freed_badly = {block.ctaid[0], block.ctaid[1], block.ctaid[2]};
}

void OnAllocate(const ptx2cpu_block& block, void* memory, uint64_t bytes) {
  if ((WantedKinds() & PTX2CPU_CHECKS_INIT) != 0) MarkUninitialised(memory, bytes);
  if ((WantedKinds() & PTX2CPU_CHECKS_RACE) == 0) return;
  if (BlockCheck* check = CheckOfChecked(block)) check->Allocate(reinterpret_cast<uint64_t>(memory), bytes);
}

void OnResult(const ptx2cpu_block& block, uint32_t thread, const void* to, uint32_t bytes) {
  if ((WantedKinds() & PTX2CPU_CHECKS_INIT) == 0) return;  // unchecked programs look up nothing
  if (BlockCheck* check = CheckOfChecked(block)) check->Result(block, thread, to, bytes);
}

}  // namespace ptx2cpu::rt::check

// Races of accesses that are no rows: what the lanes have in common is found once, then each enters the cells
// of its words, in the order of lanes.
#include <algorithm>
#include <bit>
#include <mutex>
#include <optional>

#include "runtime/check/block_check.h"
#include "runtime/check/global_shadow.h"

namespace ptx2cpu::rt::check {

namespace {

// From the first byte that some lane accesses to the last. `bits` is the OR of all addresses, for
// their alignment.
struct Hull {
  uint64_t begin = ~uint64_t{0}, end = 0, bits = 0;
};

Hull HullOf(const Accesses& accesses) {
  Hull hull;
  for (uint64_t rest = accesses.lanes; rest != 0; rest &= rest - 1) {
    const uint64_t address = accesses.AddressOf(static_cast<uint32_t>(std::countr_zero(rest)));
    hull.begin = std::min(hull.begin, address);
    hull.end = std::max(hull.end, address + accesses.bytes);
    hull.bits |= address;
  }
  return hull;
}

bool HasLaneForm(const Accesses& accesses) {
  return IsForLanesTogether(accesses.form) && std::has_single_bit(accesses.bytes) && accesses.bytes <= 16;
}

}  // namespace

// Whether other threads may learn from these accesses, or these from others.
bool BlockCheck::Synchronises(const Accesses& accesses, uint64_t real, uint64_t bytes) const {
  if ((accesses.form & PTX2CPU_ACCESS_STRONG) == 0) return false;
  if ((accesses.form & PTX2CPU_ACCESS_WRITES) != 0 && clock_.fenced()) return true;
  return clock_.MayTeach(real, bytes);
}

// False: nothing has been done.
bool BlockCheck::AccessLanes(const ptx2cpu_block& block, const Accesses& accesses) {
  constexpr uint64_t kMaxBytes = uint64_t{1} << 31;
  if (Wants(PTX2CPU_CHECKS_INIT) || !HasLaneForm(accesses)) return false;
  const Hull hull = HullOf(accesses);
  if (hull.end - hull.begin > kMaxBytes) return false;
  const AccessSite whole{block,
                         accesses.thread,
                         accesses.ptx_line,
                         hull.begin,
                         accesses.form,
                         static_cast<uint32_t>(hull.end - hull.begin),
                         accesses.variable,
                         accesses.variable_base};
  if (!whole.IsInVariable()) return false;
  const Target target = TargetOf(*launch_, whole);
  const bool is_known = target.memory == Target::Memory::kShared || target.memory == Target::Memory::kGlobal;
  if (!target.inside || !is_known || target.holder.pitch != 0) return false;
  // Lanes are aligned where the addresses and the way from them to real ones are.
  if (((hull.bits | (target.real - hull.begin)) & (accesses.bytes - 1)) != 0) return false;
  if (!Wants(PTX2CPU_CHECKS_RACE) || IsSettled(accesses.form) ||
      IsUnwritten(block, target, accesses.form, accesses.written)) {
    if (target.holder.bytes != 0 && accesses.range != PTX2CPU_NO_CHECK_RANGE)
      Remember(accesses, target.holder);
    return true;
  }
  const bool is_copy = (accesses.form & PTX2CPU_ACCESS_ASYNC) != 0;
  if (!is_copy && Synchronises(accesses, target.real, whole.bytes)) return false;
  EnterLanes(accesses, whole, target);
  return true;
}

void BlockCheck::EnterLanes(const Accesses& accesses, const AccessSite& whole, const Target& target) {
  const bool is_shared = target.memory == Target::Memory::kShared;
  const uint64_t owner = is_shared ? SharedOwner() : launch_->number;
  uint64_t base = is_shared ? 0 : ~uint64_t{0};  // of the stretch whose lines these are
  Lines* lines = is_shared ? &shared_ : nullptr;
  std::unique_lock<SpinLock> lock;
  for (uint64_t rest = accesses.lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    const uint64_t way = accesses.AddressOf(lane) - whole.address;
    const uint64_t at = (is_shared ? target.offset : target.real) + way;
    if (!is_shared && at / GlobalShadow::kStretchBytes * GlobalShadow::kStretchBytes != base) {
      base = at / GlobalShadow::kStretchBytes * GlobalShadow::kStretchBytes;
      if (lock.owns_lock()) lock.unlock();
      GlobalShadow::Stretch& stretch = GlobalShadow::Get().StretchOf(base);
      lock = std::unique_lock(stretch.lock);
      lines = &stretch.lines;
    }
    const uint64_t offset = at - base;
    Conflict conflict;
    if (EnterLane(accesses, lane, offset, *lines, owner, conflict)) continue;
    AccessSite site = whole;
    site.thread = accesses.thread + lane, site.address = accesses.AddressOf(lane),
    site.bytes = accesses.bytes;
    Target place = target;
    place.real += way, place.offset += way;
    ReportRace(site, place, conflict);
  }
}

// One lane's, at this offset into the memory of the lines. False: it races, and `conflict` is the first.
bool BlockCheck::EnterLane(const Accesses& accesses, uint32_t lane, uint64_t offset, Lines& lines,
                           uint64_t owner, Conflict& conflict) {
  const uint64_t n = offset / kBytesOfLine;
  lines.At(n, owner);
  Cell* const cells = lines.CellsOf(n) + offset / 4 % kWordsOfLine;
  const uint32_t thread = accesses.thread + lane, bytes = accesses.bytes;
  const bool writes = (accesses.form & PTX2CPU_ACCESS_WRITES) != 0;
  const bool is_copy = (accesses.form & PTX2CPU_ACCESS_ASYNC) != 0;
  CellAccess access{.stamp = is_copy
                                 ? clock_.NowByCopy(thread, accesses.ptx_line, PTX2CPU_COPY_OF_THREAD, writes)
                                 : clock_.Now(thread, accesses.ptx_line),
                    .bytes = static_cast<uint8_t>(bytes >= 4 ? 15 : ((1u << bytes) - 1) << offset % 4),
                    .writes = writes,
                    .strong = !is_copy && (accesses.form & PTX2CPU_ACCESS_STRONG) != 0};
  bool is_free = true;
  for (uint32_t word = 0; word * 4 < bytes; ++word) {
    Conflict found;
    if (Enter(cells[word], access, clock_, found)) continue;
    if (is_free) conflict = found;
    is_free = false;
  }
  return is_free;
}

}  // namespace ptx2cpu::rt::check

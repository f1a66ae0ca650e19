#include "ptx-parser/translate/special_registers.h"

#include <charconv>
#include <iterator>

namespace ptx2cpu::ptx {

namespace {

using ir::Special;

struct VectorName {
  std::string_view name;
  Special x;  // y and z follow
};
constexpr VectorName kVectors[] = {
    {"%tid", Special::kTidX},
    {"%ntid", Special::kNtidX},
    {"%ctaid", Special::kCtaidX},
    {"%nctaid", Special::kNctaidX},
    {"%clusterid", Special::kClusteridX},
    {"%nclusterid", Special::kNclusteridX},
    {"%cluster_ctaid", Special::kClusterCtaidX},
    {"%cluster_nctaid", Special::kClusterNctaidX},
};

struct ScalarName {
  std::string_view name;
  Special special;
  bool is_64 = false;
  bool is_clock = false;
};
constexpr ScalarName kScalars[] = {
    {"%laneid", Special::kLaneId},
    {"%warpid", Special::kWarpId},
    {"%nwarpid", Special::kNwarpId},
    {"%smid", Special::kSmId},
    {"%nsmid", Special::kNsmId},
    {"%gridid", Special::kGridId, true},
    {"%lanemask_eq", Special::kLaneMaskEq},
    {"%lanemask_le", Special::kLaneMaskLe},
    {"%lanemask_lt", Special::kLaneMaskLt},
    {"%lanemask_ge", Special::kLaneMaskGe},
    {"%lanemask_gt", Special::kLaneMaskGt},
    {"%clock", Special::kClock, false, true},
    {"%clock_hi", Special::kClockHi, false, true},
    {"%clock64", Special::kClock64, true, true},
    {"%globaltimer", Special::kGlobaltimer, true, true},
    {"%globaltimer_lo", Special::kGlobaltimerLo, false, true},
    {"%globaltimer_hi", Special::kGlobaltimerHi, false, true},
    {"%dynamic_smem_size", Special::kDynamicSharedSize},
    {"%total_smem_size", Special::kTotalSharedSize},
    {"%aggr_smem_size", Special::kAggrSharedSize},
    {"%cluster_ctarank", Special::kClusterCtarank},
    {"%cluster_nctarank", Special::kClusterNctarank},
    {"%is_explicit_cluster", Special::kIsExplicitCluster},
    {"%reserved_smem_offset_begin", Special::kReservedSharedBegin},
    {"%reserved_smem_offset_end", Special::kReservedSharedEnd},
    {"%reserved_smem_offset_0", Special::kReservedSharedOffset0},
    {"%reserved_smem_offset_1", Special::kReservedSharedOffset1},
    {"%reserved_smem_offset_cap", Special::kNone},
    {"%current_graph_exec", Special::kNone, true},  // no graph launches itself here
};

uint32_t Number(std::string_view digits) {
  uint32_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

}  // namespace

std::optional<SpecialRegister> FindSpecial(std::string_view name, ast::Component component) {
  for (const VectorName& vector : kVectors) {
    if (vector.name != name) continue;
    int number = static_cast<int>(component) - static_cast<int>(ast::Component::kX);
    if (number < 0 || number > 3) return std::nullopt;
    if (number == 3) return SpecialRegister{};  // .w is zero
    return SpecialRegister{static_cast<Special>(static_cast<int>(vector.x) + number)};
  }
  if (component != ast::Component::kNone) return std::nullopt;
  for (const ScalarName& scalar : kScalars) {
    if (scalar.name == name) return SpecialRegister{scalar.special, scalar.is_64, scalar.is_clock};
  }
  if (name.starts_with("%envreg"))
    return SpecialRegister{Special::kEnvReg, false, false, Number(name.substr(7))};
  if (name.starts_with("%pm")) {
    return SpecialRegister{Special::kPerfCounter, name.ends_with("_64"), true, Number(name.substr(3, 1))};
  }
  return std::nullopt;
}

}  // namespace ptx2cpu::ptx

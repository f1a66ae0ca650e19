// The predefined identifiers of PTX ISA section 10. Vectors (%tid) stand here once, without component.
#include <algorithm>
#include <array>
#include <iterator>

#include "ptx-parser/parse/ast.h"

namespace ptx2cpu::ptx::ast {
namespace {

// Sorted, so that a name is found by halving.
constexpr std::string_view kNames[] = {"%aggr_smem_size",
                                       "%clock",
                                       "%clock64",
                                       "%clock_hi",
                                       "%cluster_ctaid",
                                       "%cluster_ctarank",
                                       "%cluster_nctaid",
                                       "%cluster_nctarank",
                                       "%clusterid",
                                       "%ctaid",
                                       "%current_graph_exec",
                                       "%dynamic_smem_size",
                                       "%envreg0",
                                       "%envreg1",
                                       "%envreg10",
                                       "%envreg11",
                                       "%envreg12",
                                       "%envreg13",
                                       "%envreg14",
                                       "%envreg15",
                                       "%envreg16",
                                       "%envreg17",
                                       "%envreg18",
                                       "%envreg19",
                                       "%envreg2",
                                       "%envreg20",
                                       "%envreg21",
                                       "%envreg22",
                                       "%envreg23",
                                       "%envreg24",
                                       "%envreg25",
                                       "%envreg26",
                                       "%envreg27",
                                       "%envreg28",
                                       "%envreg29",
                                       "%envreg3",
                                       "%envreg30",
                                       "%envreg31",
                                       "%envreg4",
                                       "%envreg5",
                                       "%envreg6",
                                       "%envreg7",
                                       "%envreg8",
                                       "%envreg9",
                                       "%globaltimer",
                                       "%globaltimer_hi",
                                       "%globaltimer_lo",
                                       "%gridid",
                                       "%is_explicit_cluster",
                                       "%laneid",
                                       "%lanemask_eq",
                                       "%lanemask_ge",
                                       "%lanemask_gt",
                                       "%lanemask_le",
                                       "%lanemask_lt",
                                       "%nclusterid",
                                       "%nctaid",
                                       "%nsmid",
                                       "%ntid",
                                       "%nwarpid",
                                       "%pm0",
                                       "%pm0_64",
                                       "%pm1",
                                       "%pm1_64",
                                       "%pm2",
                                       "%pm2_64",
                                       "%pm3",
                                       "%pm3_64",
                                       "%pm4",
                                       "%pm4_64",
                                       "%pm5",
                                       "%pm5_64",
                                       "%pm6",
                                       "%pm6_64",
                                       "%pm7",
                                       "%pm7_64",
                                       "%reserved_smem_offset_0",
                                       "%reserved_smem_offset_1",
                                       "%reserved_smem_offset_begin",
                                       "%reserved_smem_offset_cap",
                                       "%reserved_smem_offset_end",
                                       "%smid",
                                       "%tid",
                                       "%total_smem_size",
                                       "%warpid"};
static_assert(std::is_sorted(std::begin(kNames), std::end(kNames)));

}  // namespace

std::string_view SpecialRegisterName(uint32_t symbol) {
  CHECK(symbol < std::size(kNames), "no such special register");
  return kNames[symbol];
}

uint32_t FindSpecialRegister(std::string_view name) {
  const auto* found = std::lower_bound(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames) || *found != name) return kNotSpecial;
  return static_cast<uint32_t>(found - std::begin(kNames));
}

}  // namespace ptx2cpu::ptx::ast

#include "ir/type.h"

#include <array>

namespace ptx2cpu::ir {

namespace {
constexpr std::array<std::string_view, kTypeCount> kTypeNames = {"void", "i1",  "i8",   "i16", "i32", "i64",
                                                                 "i128", "f16", "bf16", "f32", "f64"};
constexpr std::array<int, kTypeCount> kTypeBits = {0, 1, 8, 16, 32, 64, 128, 16, 16, 32, 64};

constexpr std::array<std::string_view, 7> kSpaces = {"generic", "global", "shared",        "local",
                                                     "const",   "param",  "shared_cluster"};
constexpr std::array<std::string_view, 25> kCompares = {
    "none", "eq",  "ne",  "slt", "sle",  "sgt",  "sge",  "ult",  "ule",  "ugt",  "uge",  "feq", "fne",
    "flt",  "fle", "fgt", "fge", "fequ", "fneu", "fltu", "fleu", "fgtu", "fgeu", "fnum", "fnan"};
constexpr std::array<std::string_view, 7> kRoundings = {"none", "rn", "rz", "rm", "rp", "rna", "rs"};
constexpr std::array<std::string_view, 22> kAtomics = {
    "none",       "add",       "min_s",     "min_u",      "max_s",      "max_u",   "inc",  "dec",
    "and",        "or",        "xor",       "exch",       "fadd",       "fmin",    "fmax", "add_f16x2",
    "add_bf16x2", "min_f16x2", "max_f16x2", "min_bf16x2", "max_bf16x2", "mbarrier"};
constexpr std::array<std::string_view, 7> kOrders = {"weak",    "volatile", "relaxed", "acquire",
                                                     "release", "acq_rel",  "sc"};
constexpr std::array<std::string_view, 5> kScopes = {"none", "cta", "cluster", "gpu", "sys"};
constexpr std::array<std::string_view, 5> kShuffles = {"none", "idx", "up", "down", "bfly"};
constexpr std::array<std::string_view, 8> kNarrows = {"none", "tf32", "e4m3", "e5m2",
                                                      "e2m3", "e3m2", "e2m1", "ue8m0"};
constexpr std::array<std::string_view, 52> kSpecials = {"none",
                                                        "tid.x",
                                                        "tid.y",
                                                        "tid.z",
                                                        "laneid",
                                                        "warpid",
                                                        "lanemask_eq",
                                                        "lanemask_le",
                                                        "lanemask_lt",
                                                        "lanemask_ge",
                                                        "lanemask_gt",
                                                        "ntid.x",
                                                        "ntid.y",
                                                        "ntid.z",
                                                        "ctaid.x",
                                                        "ctaid.y",
                                                        "ctaid.z",
                                                        "nctaid.x",
                                                        "nctaid.y",
                                                        "nctaid.z",
                                                        "nwarpid",
                                                        "smid",
                                                        "nsmid",
                                                        "gridid",
                                                        "clock",
                                                        "clock_hi",
                                                        "clock64",
                                                        "globaltimer",
                                                        "globaltimer_lo",
                                                        "globaltimer_hi",
                                                        "dynamic_smem_size",
                                                        "total_smem_size",
                                                        "aggr_smem_size",
                                                        "clusterid.x",
                                                        "clusterid.y",
                                                        "clusterid.z",
                                                        "nclusterid.x",
                                                        "nclusterid.y",
                                                        "nclusterid.z",
                                                        "cluster_ctaid.x",
                                                        "cluster_ctaid.y",
                                                        "cluster_ctaid.z",
                                                        "cluster_nctaid.x",
                                                        "cluster_nctaid.y",
                                                        "cluster_nctaid.z",
                                                        "cluster_ctarank",
                                                        "cluster_nctarank",
                                                        "is_explicit_cluster",
                                                        "reserved_smem_offset_begin",
                                                        "reserved_smem_offset_end",
                                                        "reserved_smem_offset_0",
                                                        "reserved_smem_offset_1"};
constexpr std::string_view kEnvRegName = "envreg";
constexpr std::string_view kPerfCounterName = "pm";

static_assert(kSpecials.size() == static_cast<size_t>(Special::kEnvReg));
static_assert(kCompares.size() == static_cast<size_t>(Compare::kFnan) + 1);
static_assert(kAtomics.size() == static_cast<size_t>(AtomicOp::kMbarrier) + 1);

template <typename Enum, size_t N>
std::optional<Enum> Find(const std::array<std::string_view, N>& names, std::string_view word) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == word) return static_cast<Enum>(i);
  }
  return std::nullopt;
}
}  // namespace

int Bits(Type type) { return kTypeBits[static_cast<size_t>(type)]; }

Type IntegerOfBits(int bits) {
  switch (bits) {
    case 1:
      return Type::kI1;
    case 8:
      return Type::kI8;
    case 16:
      return Type::kI16;
    case 32:
      return Type::kI32;
    case 64:
      return Type::kI64;
    case 128:
      return Type::kI128;
    default:
      return Type::kVoid;
  }
}

std::string_view Name(Type type) { return kTypeNames[static_cast<size_t>(type)]; }
std::optional<Type> ParseType(std::string_view name) { return Find<Type>(kTypeNames, name); }

std::string_view Name(Space v) { return kSpaces[static_cast<size_t>(v)]; }
std::string_view Name(Compare v) { return kCompares[static_cast<size_t>(v)]; }
std::string_view Name(Rounding v) { return kRoundings[static_cast<size_t>(v)]; }
std::string_view Name(AtomicOp v) { return kAtomics[static_cast<size_t>(v)]; }
std::string_view Name(MemoryOrder v) { return kOrders[static_cast<size_t>(v)]; }
std::string_view Name(Scope v) { return kScopes[static_cast<size_t>(v)]; }
std::string_view Name(ShuffleMode v) { return kShuffles[static_cast<size_t>(v)]; }
std::string_view Name(NarrowFormat v) { return kNarrows[static_cast<size_t>(v)]; }
std::string_view Name(Special v) {
  if (v == Special::kEnvReg) return kEnvRegName;
  if (v == Special::kPerfCounter) return kPerfCounterName;
  return kSpecials[static_cast<size_t>(v)];
}

template <>
std::optional<Space> ParseName<Space>(std::string_view word) {
  return Find<Space>(kSpaces, word);
}
template <>
std::optional<Compare> ParseName<Compare>(std::string_view word) {
  return Find<Compare>(kCompares, word);
}
template <>
std::optional<Rounding> ParseName<Rounding>(std::string_view word) {
  return Find<Rounding>(kRoundings, word);
}
template <>
std::optional<AtomicOp> ParseName<AtomicOp>(std::string_view word) {
  return Find<AtomicOp>(kAtomics, word);
}
template <>
std::optional<MemoryOrder> ParseName<MemoryOrder>(std::string_view word) {
  return Find<MemoryOrder>(kOrders, word);
}
template <>
std::optional<Scope> ParseName<Scope>(std::string_view word) {
  return Find<Scope>(kScopes, word);
}
template <>
std::optional<ShuffleMode> ParseName<ShuffleMode>(std::string_view word) {
  return Find<ShuffleMode>(kShuffles, word);
}
template <>
std::optional<NarrowFormat> ParseName<NarrowFormat>(std::string_view word) {
  return Find<NarrowFormat>(kNarrows, word);
}
template <>
std::optional<Special> ParseName<Special>(std::string_view word) {
  if (word == kEnvRegName) return Special::kEnvReg;
  if (word == kPerfCounterName) return Special::kPerfCounter;
  return Find<Special>(kSpecials, word);
}

}  // namespace ptx2cpu::ir

// Types of IR values and the enumerations that instructions carry as attributes.
//
// A PTX register is a bag of bits; an IR value has one of these types and `bitcast` moves between equal
// widths. Packed PTX types (f16x2, bf16x2, u16x2, e4m3x2 ...) are `pack`/`unpack` around the scalar
// operations.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ptx2cpu::ir {

enum class Type : uint8_t { kVoid, kI1, kI8, kI16, kI32, kI64, kI128, kF16, kBF16, kF32, kF64 };
inline constexpr int kTypeCount = 11;

int Bits(Type type);                                          // 1 for i1
inline int Bytes(Type type) { return (Bits(type) + 7) / 8; }  // size in memory
inline bool IsFloat(Type type) { return type >= Type::kF16; }
inline bool IsInteger(Type type) { return type >= Type::kI1 && type <= Type::kI128; }
Type IntegerOfBits(int bits);      // 1, 8, 16, 32, 64, 128
std::string_view Name(Type type);  // "i32", "bf16"
std::optional<Type> ParseType(std::string_view name);

// Where an address points. Generic, global, constant and param addresses are real pointers; shared and local
// ones are offsets in a window (execution.md section 6). Shared memory of the cluster is known to address
// conversions only: an offset in the own window, or one in the window of the block with rank r, with r + 1 in
// bits 24 and up.
enum class Space : uint8_t { kGeneric, kGlobal, kShared, kLocal, kConst, kParam, kSharedCluster };
inline constexpr uint32_t kClusterRankShift = 24;  // shared windows are smaller

// Integer predicates are signed (slt) or unsigned (ult); float predicates are ordered (lt: false on NaN)
// or unordered (ltu: true on NaN).
enum class Compare : uint8_t {
  kNone,
  kEq,
  kNe,
  kSlt,
  kSle,
  kSgt,
  kSge,
  kUlt,
  kUle,
  kUgt,
  kUge,  // icmp
  kFeq,
  kFne,
  kFlt,
  kFle,
  kFgt,
  kFge,
  kFequ,
  kFneu,
  kFltu,
  kFleu,
  kFgtu,
  kFgeu,
  kFnum,
  kFnan,  // fcmp
};

// Rounding of results: nearest even, toward zero, toward minus / plus infinity, nearest away (cvt .rna,
// tf32), and stochastic (cvt .rs, takes random bits as an operand).
enum class Rounding : uint8_t { kNone, kNearestEven, kTowardZero, kDown, kUp, kNearestAway, kStochastic };

enum class AtomicOp : uint8_t {
  kNone,
  kAdd,
  kMinS,
  kMinU,
  kMaxS,
  kMaxU,
  kInc,
  kDec,
  kAnd,
  kOr,
  kXor,
  kExchange,
  kFAdd,
  kFMin,
  kFMax,  // on f16, bf16, f32, f64
  kAddF16x2,
  kAddBF16x2,
  kMinF16x2,
  kMaxF16x2,
  kMinBF16x2,
  kMaxBF16x2,  // on i32, each half by itself
  kMbarrier,   // on i64, an mbarrier object: mbarrier.h
};

enum class MemoryOrder : uint8_t { kWeak, kVolatile, kRelaxed, kAcquire, kRelease, kAcqRel, kSeqCst };
enum class Scope : uint8_t { kNone, kCta, kCluster, kGpu, kSys };
enum class ShuffleMode : uint8_t { kNone, kIdx, kUp, kDown, kBfly };

// Formats narrower than a register that conversions read or write as raw bits.
enum class NarrowFormat : uint8_t { kNone, kTF32, kE4M3, kE5M2, kE2M3, kE3M2, kE2M1, kUE8M0 };

// Special registers that differ between threads, and those that belong to the launch.
enum class Special : uint8_t {
  kNone,
  kTidX,
  kTidY,
  kTidZ,
  kLaneId,
  kWarpId,
  kLaneMaskEq,
  kLaneMaskLe,
  kLaneMaskLt,
  kLaneMaskGe,
  kLaneMaskGt,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kNwarpId,
  kSmId,
  kNsmId,
  kGridId,
  kClock,
  kClockHi,
  kClock64,
  kGlobaltimer,
  kGlobaltimerLo,
  kGlobaltimerHi,
  kDynamicSharedSize,
  kTotalSharedSize,
  kAggrSharedSize,
  kClusteridX,
  kClusteridY,
  kClusteridZ,
  kNclusteridX,
  kNclusteridY,
  kNclusteridZ,
  kClusterCtaidX,
  kClusterCtaidY,
  kClusterCtaidZ,
  kClusterNctaidX,
  kClusterNctaidY,
  kClusterNctaidZ,
  kClusterCtarank,
  kClusterNctarank,
  kIsExplicitCluster,
  kReservedSharedBegin,
  kReservedSharedEnd,
  kReservedSharedOffset0,
  kReservedSharedOffset1,
  kEnvReg,       // attrs.index says which of %envreg0..31
  kPerfCounter,  // %pm0..7 and their _64 forms: attrs.index; always 0 here
};

std::string_view Name(Space space);
std::string_view Name(Compare compare);
std::string_view Name(Rounding rounding);
std::string_view Name(AtomicOp op);
std::string_view Name(MemoryOrder order);
std::string_view Name(Scope scope);
std::string_view Name(ShuffleMode mode);
std::string_view Name(NarrowFormat format);
std::string_view Name(Special special);
// Parses any of the names above; nullopt when the word is not one of them.
template <typename Enum>
std::optional<Enum> ParseName(std::string_view word);

}  // namespace ptx2cpu::ir

// Opcodes and their properties, read from opcodes.def: the only place where they are listed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/type.h"

namespace ptx2cpu::ir {

enum class Opcode : uint8_t {
#define OP(name, mnemonic, signature, types, attributes, effects, meaning) k##name,
#include "ir/opcodes.def"
#undef OP
  kCount
};

// Attribute fields a row reads.
enum AttributeField : uint32_t {
  kBits = 1,
  kSpace = 2,
  kIndex = 4,
  kSpecial = 8,
  kFlags = 16,
  kCompare = 32,
  kRounding = 64,
  kNarrow = 128,
  kOrder = 256,
  kScope = 512,
  kAlign = 1024,
  kAtomic = 2048,
  kShuffle = 4096,
  // Not fields: the phases that know the row.
  kFromSplit = 1 << 16,  // Split and Collapsed
  kOnlyCollapsed = 1 << 17,
};

// Bits of Attrs::flags.
enum Flag : uint32_t {
  kFtz = 1,
  kSat = 2,
  kApprox = 4,
  kFullRange = 8,
  kRelu = 16,
  kPropagateNan = 32,
  kXorSign = 64,
  kAbs = 128,
  kWrap = 256,
  kShiftAmount = 512,
  kUnsigned = 1024,
  kSignedA = 2048,
  kSignedB = 4096,
  kHigh = 8192,
  kNonCoherent = 1 << 14,
  kNoResult = 1 << 15,
  kAligned = 1 << 16,
  kLegacy = 1 << 17,
  kUniform = 1 << 18,
  kVolatile = 1 << 19,
  kSatFinite = 1 << 20,
  kDivergent = 1 << 21,
};
std::string_view FlagName(Flag flag);
std::optional<Flag> ParseFlag(std::string_view word);

enum class TypeSet : uint8_t { kNoType, kAnyType, kInts, kIntsAndI1, kFloats, kNumbers };
enum class Effect : uint8_t { kPure, kReads, kWrites, kMemory, kCollective, kBarrier, kOpaque, kTerminator };

struct OpcodeInfo {
  std::string_view name;      // "Add"
  std::string_view mnemonic;  // "add"
  std::string_view operands;  // signature letters before ':'
  std::string_view results;   // and after
  TypeSet types;
  uint32_t attributes;  // AttributeField bits, and the phases
  Effect effect;
  std::string_view meaning;
};
const OpcodeInfo& Info(Opcode op);
std::optional<Opcode> ParseOpcode(std::string_view mnemonic);
inline bool IsTerminator(Opcode op) { return Info(op).effect == Effect::kTerminator; }
inline bool IsCollective(Opcode op) { return Info(op).effect == Effect::kCollective; }
inline bool IsBarrier(Opcode op) { return Info(op).effect == Effect::kBarrier; }
// Barriers of the cluster have no number and no count.
inline bool IsClusterBarrier(Opcode op) { return op == Opcode::kClusterArrive || op == Opcode::kClusterWait; }

}  // namespace ptx2cpu::ir

// Opcodes and their properties, read from opcodes.def: the only place where they are listed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/special_register.h"
#include "ir/type.h"

namespace ptx2cpu::ir {

enum class Opcode : uint8_t {
#define OP(name, ...) k##name,
#include "ir/opcodes.def"
#undef OP
  kCount
};

// The words of attributes.def, by number.
enum AttributeNumber : uint32_t {
#define ATTRIBUTE(type, member, field, presence) field##Number,
#include "ir/attributes.def"
};

enum class Presence : uint8_t { kOmitted, kRequired, kWritten };  // head of attributes.def

// Attributes that a row reads.
enum AttributeField : uint32_t {
  kBits = 1,
  kFlags = 2,
  kAlign = 4,
  // attrs.index, and what it means: one of these at most.
  kIndexOfVariable = 8,     // of the module; with space local, of the function's locals
  kIndexOfFunction = 16,    // of the module
  kIndexOfSignature = 32,   // of the module
  kIndexOfSlot = 64,        // of the function
  kIndexOfPoint = 128,      // a resume point of the function
  kNumberOfWord = 256,      // of the words that a waiting lane shares with the scheduler, 0 to 3
  kNumberOfRegister = 512,  // special registers that are numbered
  kTruthTable = 1024,       // 8 bits; bit 4 a + 2 b + c is the result for the bits a, b, c of the operands
  kImageMode = 2048,        // the bits of image.h; of tensor copies those of tensor.h
  kAccessForm = 1u << 24,   // the bits of runtime/abi/check.h
  kSharedMatrices = 1u << 26,
  kMatrixForm = 1u << 29,  // the bits of matrix.h; of tensor cores those of runtime/abi/tensor_core.h
  kIndex = kIndexOfVariable | kIndexOfFunction | kIndexOfSignature | kIndexOfSlot | kIndexOfPoint |
           kNumberOfWord | kNumberOfRegister | kTruthTable | kImageMode | kAccessForm | kMatrixForm,
// kSpecial, kCompare, kSpace ...: the enumerations of attributes.def.
#define ATTRIBUTE(type, member, field, presence) field = 4096u << field##Number,
#include "ir/attributes.def"
  // Not attributes: how far the results are known, and the phases that have the row.
  kBounded = 1 << 27,     // PTX bounds the results' error and does not define the results
  kUnrecorded = 1 << 28,  // does what the manual defines, which no GPU has recorded
  kFromSplit = 1 << 30,   // Split and Collapsed
  kOnlyCollapsed = 1u << 31,
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

// What a row does across lanes: the head of opcodes.def explains each.
enum class Lanes : uint8_t { kAlone, kMeet, kExchange, kVote, kElect, kPresence, kAgree };
enum class Cost : uint8_t { kFree, kCheap, kCostly };

struct OpcodeInfo {
  std::string_view name;      // "Add"
  std::string_view mnemonic;  // "add"
  std::string_view operands;  // signature letters before ':'
  std::string_view results;   // and after
  TypeSet types;
  TypeSet from;
  uint32_t attributes;  // AttributeField bits, and the phases
  Effect effect;
  Lanes lanes;
  Cost cost;
  std::string_view ptx;         // usual spelling; empty: PTX has no such instruction
  std::string_view legacy_ptx;  // the same with kLegacy
  std::string_view meaning;
};
const OpcodeInfo& Info(Opcode op);
std::optional<Opcode> ParseOpcode(std::string_view mnemonic);
// What messages call an instruction: its PTX spelling or, where PTX has none, its mnemonic.
std::string_view PtxName(Opcode op, uint32_t flags);
inline bool IsTerminator(Opcode op) { return Info(op).effect == Effect::kTerminator; }
inline bool IsCollective(Opcode op) { return Info(op).effect == Effect::kCollective; }
// A collective that reads memory or, if it has no results, writes it.
inline bool AccessesMemory(Opcode op) {
  return IsCollective(op) && (Info(op).attributes & (kSpace | kSharedMatrices)) != 0;
}
// What an instruction itself does to memory; a fence has no operands and accesses nothing. For calls see what
// they call.
inline bool ReadsMemory(Opcode op) {
  const OpcodeInfo& info = Info(op);
  return info.effect == Effect::kReads || (info.effect == Effect::kMemory && !info.operands.empty()) ||
         (AccessesMemory(op) && !info.results.empty());
}
inline bool WritesMemory(Opcode op) {
  const OpcodeInfo& info = Info(op);
  return info.effect == Effect::kWrites || (info.effect == Effect::kMemory && !info.operands.empty()) ||
         (AccessesMemory(op) && info.results.empty());
}
inline bool IsBarrier(Opcode op) { return Info(op).effect == Effect::kBarrier; }
inline bool IsCall(Opcode op) { return op == Opcode::kCall || op == Opcode::kCallIndirect; }
inline bool IsAgreement(Opcode op) { return Info(op).lanes == Lanes::kAgree; }
// A collective whose members are named by its last operand; else they are the lanes that have converged.
inline bool HasMembermask(Opcode op, uint32_t flags) {
  return IsCollective(op) && Info(op).lanes != Lanes::kPresence && (flags & kLegacy) == 0;
}
inline bool IsConverged(Opcode op, uint32_t flags) { return IsCollective(op) && !HasMembermask(op, flags); }
// Barriers of the cluster have no number and no count.
inline bool IsClusterBarrier(Opcode op) { return op == Opcode::kClusterArrive || op == Opcode::kClusterWait; }
// Where the threads of a level let others run: no number, no count, and no thread is waited for.
inline bool IsYield(Opcode op) {
  return op == Opcode::kYieldBlock || op == Opcode::kYieldWarp || op == Opcode::kLeave;
}
// A barrier that each warp reaches for itself, whatever resumes.
inline bool IsOfWarp(Opcode op) { return op == Opcode::kYieldWarp || op == Opcode::kLeave; }
// Barriers that threads of one block meet at.
inline bool IsBlockBarrier(Opcode op) { return IsBarrier(op) && !IsClusterBarrier(op) && !IsYield(op); }

}  // namespace ptx2cpu::ir

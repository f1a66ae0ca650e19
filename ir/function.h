// The IR: modules, functions, blocks with parameters (no phis), instructions, values. SSA throughout.
//
// Everything is addressed by typed 32-bit indices and stored in vectors, so passes may append while they
// walk. One function passes through three phases (see verify.h for the rules of each):
//   Simt       one thread's view, as in PTX
//   Split      barriers, collectives and peeled branches are alone in blocks of their level
//   Collapsed  regions are loops: for_warps / for_lanes; values that cross regions live in slots
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/opcode.h"
#include "ir/position.h"
#include "ir/result.h"

namespace ptx2cpu::ir {

template <typename Tag>
struct Id {
  uint32_t index = ~0u;
  constexpr bool valid() const { return index != ~0u; }
  friend constexpr auto operator<=>(Id, Id) = default;
};
using ValueId = Id<struct ValueTag>;
using InstId = Id<struct InstTag>;
using BlockId = Id<struct BlockTag>;

// Attributes; a row of opcodes.def lists those it reads, the others stay zero.
struct Attrs {
  uint64_t bits = 0;   // Const; a 128-bit constant is these bits sign-extended
  uint32_t index = 0;  // what it counts: the row's kIndexOf..., kNumberOf..., kTruthTable, kImageMode,
                       // kAccessForm or kMatrixForm
  uint32_t flags = 0;  // Flag bits
  uint32_t align = 0;  // bytes a Load or Store may assume; 0: natural alignment of the access
  Space space = Space::kGeneric;
  Compare compare = Compare::kNone;
  Rounding rounding = Rounding::kNone;
  AtomicOp atomic = AtomicOp::kNone;
  MemoryOrder order = MemoryOrder::kWeak;
  Scope scope = Scope::kNone;
  ShuffleMode shuffle = ShuffleMode::kNone;
  NarrowFormat narrow = NarrowFormat::kNone;
  Special special = Special::kNone;
  PermuteMode permute = PermuteMode::kGeneral;
  FloatTest test = FloatTest::kFinite;
  ImageQuery query = ImageQuery::kWidth;
  friend bool operator==(const Attrs&, const Attrs&) = default;
};

struct Edge {
  BlockId to;
  std::vector<ValueId> args;  // one per parameter of `to`
};

struct Inst {
  Opcode op = Opcode::kUndef;
  Type type = Type::kVoid;  // T of the signature
  Type from = Type::kVoid;  // F of the signature
  Attrs attrs;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  std::vector<Edge> edges;  // terminators only
  Position at;
  BlockId block;  // invalid once removed
};

// Whether lanes that execute `a` and lanes that execute `b`, wherever the two are, execute one collective
// together: "the same instruction with the same qualifiers" of PTX. Their membermasks must be equal as well.
bool SameOperation(const Inst& a, const Inst& b);

struct Value {
  Type type = Type::kVoid;
  InstId def;           // invalid for a block parameter
  BlockId block;        // the block it is a parameter of, or of its instruction
  uint32_t number = 0;  // result number or parameter number
};

// What executes a block of code: each lane, each warp once (one value serves 32 lanes), the block once.
enum class Level : uint8_t { kLane, kWarp, kBlock };

struct Block {
  std::vector<ValueId> params;
  std::vector<InstId> insts;  // the last one is the terminator
  Level level = Level::kLane;
  std::string label;  // PTX label, for people
  bool removed = false;
};

enum class Phase : uint8_t { kSimt, kSplit, kCollapsed };
std::string_view Name(Phase phase);
std::string_view Name(Level level);

// A scalar travels in a register; an aggregate as the address of a copy that the callee owns.
struct Param {
  std::string name;
  Type type = Type::kVoid;  // kVoid: aggregate of `size` bytes
  uint32_t offset = 0;      // kernels: byte offset in the parameter buffer
  uint32_t size = 0;
  uint32_t align = 1;
};

// Storage for a value that crosses regions (Collapsed). Uniform: one for the block; warp: one per warp;
// lane: one per thread, [slot][warp][32].
struct Slot {
  Type type = Type::kVoid;
  Level shape = Level::kLane;
};

// A kernel is resumable where flat or warp collapsing may not be able to run it: its code runs the lanes of
// one warp until each suspends or exits, and a scheduler decides what runs next (lowering/passes/README.md).
enum class Resumes : uint8_t {
  kNever,   // block-level code runs the block to its end
  kBlocks,  // the block suspends where its threads, or those of a warp, wait for stores of others
  kWarps,   // whole warps suspend, at block barriers and where they wait for other warps' stores
  kLanes,   // each lane suspends on its own, also at collectives
};
std::string_view Name(Resumes resumes);

// A place where threads wait, and after which they continue. Number 0 is the start; the others are in reverse
// post order.
struct ResumePoint {
  static constexpr uint32_t kNoClass = ~0u;
  Opcode op = Opcode::kUndef;      // the barrier or collective; kUndef: none, the thread only yields
  uint32_t collective = kNoClass;  // lanes at points of one class with one membermask execute it together
  uint32_t flags = 0;              // kLegacy: no membermask; kAligned
  Position at;
};

// Variable local to a function: .local and .param declarations (per thread), addressed through Symbol with
// space = kLocal and index into Function::locals. Offsets are given by the layout pass of translation.
struct LocalVariable {
  std::string name;
  uint32_t size = 0, align = 1, offset = 0;
};

// The special members of a function, a variable and a module are out of line: inline, each source that
// copies, moves or ends one has code of its own for all of their parts.
struct Function {
  Function();
  Function(const Function& other);
  Function(Function&& other) noexcept;
  Function& operator=(const Function& other);
  Function& operator=(Function&& other) noexcept;
  ~Function();

  std::string name;
  bool is_kernel = false;
  bool is_declaration = false;
  bool is_noreturn = false;
  bool is_indirect_target =
      false;  // an indirect call may reach it: somewhere in the program its address is taken
  Phase phase = Phase::kSimt;
  Position at;
  std::vector<Param> params;  // kernels: layout of the buffer; functions: block parameters of `entry`
                              // (scalars and addresses, in this order)
  std::vector<Param>
      returns;  // scalars: results of Call; aggregates: callers pass an address as a leading operand
  uint32_t param_bytes = 0;  // kernels: size of the parameter buffer
  std::vector<LocalVariable> locals;
  uint32_t local_bytes = 0;                  // per thread, all locals
  uint32_t max_threads[3] = {0, 0, 0};       // .maxntid; 0: not given
  uint32_t required_threads[3] = {0, 0, 0};  // .reqntid
  uint32_t required_cluster[3] = {0, 0, 0};  // .reqnctapercluster / explicit cluster

  std::vector<Value> values;
  std::vector<Inst> insts;
  std::vector<Block> blocks;
  BlockId entry;

  // Collapsed phase.
  std::vector<Slot> slots;
  bool has_early_exit = false;  // a lane may end before others: live masks are kept
  bool is_flat = false;         // one loop over the block's threads, no warp level
  Resumes resumes = Resumes::kNever;
  std::vector<ResumePoint> resume_points;  // resumable: [0] is the start
  // A kernel's code for warps whose lanes are together: the function of the module in which they continue
  // once they part (lowering/passes/README.md). ~0: it is no such code.
  uint32_t together_of = ~0u;
  // A kernel whose code is that of several: these functions of the module, the others of which are
  // declarations now; kernel_number is the place here. Empty: its own alone.
  std::vector<uint32_t> entries;
  uint32_t parked_slot =
      ~0u;  // warp slot: lanes that wait while others run an arm of a divergent branch; ~0: none do

  const Value& at_value(ValueId id) const { return values[id.index]; }
  const Inst& at_inst(InstId id) const { return insts[id.index]; }
  const Block& at_block(BlockId id) const { return blocks[id.index]; }
  Inst& inst(InstId id) { return insts[id.index]; }
  Block& block(BlockId id) { return blocks[id.index]; }
  Type type_of(ValueId id) const { return values[id.index].type; }
  const Inst& terminator(BlockId id) const { return at_inst(at_block(id).insts.back()); }
  std::span<const Edge> successors(BlockId id) const { return terminator(id).edges; }
};

// A module variable. Shared variables have an offset in the block's window; global and constant ones real
// storage.
struct Variable {
  enum class Linkage : uint8_t { kInternal, kVisible, kExtern, kWeak, kCommon };
  struct Relocation {  // the bytes at `offset` receive address(symbol) + addend
    uint32_t offset = 0;
    uint32_t size = 8;   // bytes written, 4 or 8, or a single byte of the address under `shift`
    uint32_t shift = 0;  // mask() initialisers: which part of the address
    bool is_function = false;
    uint32_t index = 0;  // variable or function
    int64_t addend = 0;
  };
  Variable();
  Variable(const Variable& other);
  Variable(Variable&& other) noexcept;
  Variable& operator=(const Variable& other);
  Variable& operator=(Variable&& other) noexcept;
  ~Variable();

  std::string name;
  Space space = Space::kGlobal;
  Linkage linkage = Linkage::kInternal;
  uint64_t size = 0;  // 0: extern .shared x[] (dynamic), all of them begin at the end of the static part
  uint32_t align = 1;
  uint32_t shared_offset = 0;
  bool is_managed = false;
  std::vector<uint8_t> initial;  // shorter than size: the rest is zero
  std::vector<Relocation> relocations;
  Position at;
};

struct Signature {  // prototype of an indirect call
  std::vector<Param> params, returns;
};

struct Module {
  struct Part {  // one PTX module of several: its line numbers follow those of the one before
    std::string name;
    uint32_t lines_before = 0;
  };
  Module();
  Module(const Module& other);
  Module(Module&& other) noexcept;
  Module& operator=(const Module& other);
  Module& operator=(Module&& other) noexcept;
  ~Module();

  std::string name;         // file name for messages
  std::vector<Part> parts;  // empty: the module is one text
  std::string text;         // the PTX text, for messages; may be empty
  uint32_t ptx_major = 0, ptx_minor = 0, sm = 0;
  std::vector<std::string> source_files;  // .file, index = number; [0] unused
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::vector<Signature> signatures;
  uint32_t static_shared_bytes = 0;  // all .shared variables of the module laid out; kernels may trim later
  std::string_view Line(uint32_t ptx_line) const;  // text of one PTX line, empty when unknown
  SourcePosition Place(uint32_t ptx_line) const;   // the file and the line in it; line 0 where unknown
  const Function* FindFunction(std::string_view name) const;
};

// Functions that an indirect call may reach: marked so, or their address is taken in this module.
std::vector<bool> IndirectTargets(const Module& module);
// The value of a function's address in all kernels of a program, each of which may have code of its
// own for it.
uint64_t FunctionIdentity(std::string_view name);

// -- editing --
ValueId AddValue(Function& f, Type type, InstId def, BlockId block, uint32_t number);
BlockId AddBlock(Function& f, std::string label = {}, Level level = Level::kLane);
ValueId AddParam(Function& f, BlockId block, Type type);
// Appends an instruction with its operands; results are made from the signature (Unpack, Load:
// `result_count`).
InstId Append(Function& f, BlockId block, Inst inst, uint32_t result_count = 1);
// The same before position `where` in the block's list.
InstId Insert(Function& f, BlockId block, size_t where, Inst inst, uint32_t result_count = 1);
void Remove(Function& f, InstId id);                             // from its block; its results must be unused
void ReplaceUses(Function& f, ValueId from, ValueId to);         // everywhere: one walk
void ReplaceUses(Function& f, const std::vector<ValueId>& map);  // map[v.index] valid: use that instead
void RemoveUnreachableBlocks(Function& f);
// For a function that resumes lanes: whether a step of a warp's lanes begins with a resume at warp level,
// which leads to code for all of them where they are together. By resume point, the block it leads to;
// invalid: they run one by one there.
bool RunsTogether(const Function& f);
std::vector<BlockId> TogetherByPoint(const Function& f);
std::vector<BlockId> ReversePostOrder(const Function& f);
// From one block, over the edges that `followed` selects of each terminator.
std::vector<BlockId> ReversePostOrder(const Function& f, BlockId entry,
                                      std::span<const Edge> (*followed)(const Inst& terminator));
std::vector<std::vector<BlockId>> Predecessors(const Function& f);
// Type of result `number` of an instruction by its row.
Type ResultType(const Inst& inst, uint32_t number);

}  // namespace ptx2cpu::ir

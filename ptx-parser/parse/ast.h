// The syntax tree of one PTX module: what Parse (parse.h) makes and what match and translate read.
//
// Shape. Everything lies in flat pools owned by the Module; nodes name each other by 32-bit index or by Range
// (first, count into a pool), so a module of a million instructions is a dozen allocations. Strings are views
// into Module::text, which a Module shares: copying or moving a Module keeps every view valid.
//
// Names. After Parse every name is resolved: an operand that names something carries (symbol_kind, symbol),
// and no later stage looks up a string. Scopes are already resolved there.
//
// Words. Directive and type words are kept without their leading dot: "b32", "pred", "texref".
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/result.h"

namespace ptx2cpu::ptx::ast {

inline constexpr uint32_t kNone = UINT32_MAX;  // "no index" wherever an index is optional

// Line and column count from 1; 0 is unknown. Columns count bytes.
struct Position {
  uint32_t line = 0;
  uint32_t column = 0;
};

// A run of consecutive elements of a pool.
struct Range {
  uint32_t first = 0;
  uint32_t count = 0;
  bool empty() const { return count == 0; }
};

enum class Space : uint8_t { kReg, kSreg, kConst, kGlobal, kLocal, kParam, kShared, kTex, kGeneric };
enum class Linkage : uint8_t { kNone, kExtern, kVisible, kWeak, kCommon };

// What an identifier refers to, and so which pool Operand::symbol points into.
enum class SymbolKind : uint8_t {
  kNone,             // not a name (immediates, lists, `_`)
  kRegister,         // register number within the function: 0 .. Function::register_count - 1
  kVariable,         // Module::variables: module-scope, parameters and body-local ones alike; never .reg
  kFunction,         // Module::functions: the definition where there is one, else the declaration
  kLabel,            // Module::labels
  kSpecialRegister,  // SpecialRegisterName(symbol): %tid, %laneid, %clock64 ...
  kTargets,          // Module::targets: the name of a .branchtargets or .calltargets
  kPrototype,        // Module::prototypes
};

// A selector after an operand: %tid.x, %v.w, %r1.b0 (video instructions). .r .g .b .a read as kX .. kW.
// kBytes and kHalves, .b0213 and .h10, name several: Operand::integer is then their Selection.
enum class Component : uint8_t { kNone, kX, kY, kZ, kW, kB0, kB1, kB2, kB3, kH0, kH1, kBytes, kHalves };

// The digits of .b0213, each in four bits, the last one lowest; it selects for the lowest byte.
struct Selection {
  uint32_t digits = 0, count = 0;
  static Selection Of(int64_t integer) {
    return {static_cast<uint32_t>(integer) & 0xffff, static_cast<uint32_t>(integer) >> 16};
  }
  int64_t Integer() const { return int64_t{count} << 16 | digits; }
  uint32_t Digit(uint32_t index) const { return digits >> (4 * index) & 0xf; }
};

enum class OperandKind : uint8_t {
  kIdentifier,  // text [component] [+ integer]: register, special register, variable, function, label ...
  kInteger,     // integer: 64 bits, constant expressions already evaluated; kUnsigned if its type is .u64
  kFloat32,     // bits: 0f........
  kFloat64,     // bits: 0d................ and decimal literals
  kSink,        // _
  kAddress,     // [text + integer], or [integer] when text is empty (symbol_kind kNone)
  kElement,     // text[index]: element of an array variable; one child, kInteger or a register (+ offset)
  kVector,      // {a, b, ...}: children; also a brace list of an initialiser
  kPair,        // a|b: two children
  kArguments,   // (a, b, ...): children, in call; also ()
  kBracket,     // [a, {b, c}, ...]: children, for tex, surf, bulk copies
  kMasked,      // 0xFF00(address) in an initialiser: one child; symbol is the byte number, here 1
  kField,       // addr_mode_0 = x in a .samplerref initialiser: text is the field, one child
};

// 32 bytes. `integer`, `bits` and `children` share storage; kind selects the valid one.
struct Operand {
  enum Flag : uint8_t {
    kNegated = 1,   // !a (predicate)
    kMinus = 2,     // -a on a register (video instructions)
    kUnsigned = 4,  // the integer's type is .u64
    kGeneric = 8,   // generic(a) in an initialiser
    kUnified = 16,  // [a].unified
  };
  OperandKind kind = OperandKind::kSink;
  uint8_t flags = 0;
  Component component = Component::kNone;
  SymbolKind symbol_kind = SymbolKind::kNone;
  uint32_t symbol = kNone;
  std::string_view text;  // the identifier; for immediates their spelling when it is a single literal
  union {
    int64_t integer;
    uint64_t bits;
    Range children;  // Module::operands
  };
  Operand() : integer(0) {}
  bool Has(Flag flag) const { return (flags & flag) != 0; }
  bool HasSelection() const { return component == Component::kBytes || component == Component::kHalves; }
  bool HasChildren() const {
    return kind == OperandKind::kVector || kind == OperandKind::kPair || kind == OperandKind::kArguments ||
           kind == OperandKind::kBracket || kind == OperandKind::kMasked || kind == OperandKind::kField ||
           kind == OperandKind::kElement;
  }
};

// A distinct opcode of the module; instructions share it, so per-opcode work is done once per module.
struct Opcode {
  std::string_view text;  // add.rn.ftz.f32
  std::string_view base;  // add
  Range modifiers;        // Module::words: rn, ftz, f32; "L2::128B" is one word
};

enum class Guard : uint8_t { kNone, kIfTrue, kIfFalse };

struct Instruction {
  Position position;
  uint32_t opcode = 0;              // Module::opcodes
  Range operands;                   // Module::operands, top level only
  Guard guard = Guard::kNone;       // @p or @!p
  uint32_t guard_register = kNone;  // register number, resolved
  std::string_view guard_text;      // %p1
};

struct Label {
  std::string_view name;
  Position position;
  uint32_t statement = kNone;  // Module::statements, the kLabel itself
};

// One declared variable, register (range), parameter or return value.
struct Variable {
  Space space = Space::kGlobal;
  Linkage linkage = Linkage::kNone;
  uint8_t vector = 1;                     // 1, 2, 4, 8
  bool is_pointer = false;                // has .ptr
  bool managed = false;                   // .attribute(.managed)
  bool unified = false;                   // .attribute(.unified(...))
  uint8_t bank = 0;                       // .const[bank], PTX 1 and 2
  Space pointer_space = Space::kGeneric;  // of .ptr
  uint32_t align = 0;                     // bytes; 0: natural
  uint32_t pointer_align = 0;             // of .ptr; 0: not given (PTX then assumes 4)
  std::string_view type;                  // "b32", "f32", "pred", "texref" ...
  std::string_view name;                  // without <N>; "_" in a prototype
  uint32_t parameterised = 0;  // .reg: N of name<N>, which declares name0 .. name(N-1); 0: not so. In other
                               // spaces each of the N is a Variable of its own.
  uint32_t first_register = kNone;  // .reg: register number of (the first of) it; a register of the whole
                                    // module has one in each function, in Function::register_ranges
  uint32_t initializer = kNone;     // Module::operands
  uint32_t function = kNone;        // Module::functions it belongs to; kNone at module scope
  Range dimensions;                 // Module::dimensions; 0 means []
  Position position;
};

// .loc file line column [, function_name label+offset, inlined_at file line column]
struct Loc {
  uint32_t file = 0;
  uint32_t line = 0;
  uint32_t column = 0;
  std::string_view function_name;  // a label in .section .debug_str; empty: not inlined
  uint64_t function_offset = 0;
  uint32_t inlined_file = 0;
  uint32_t inlined_line = 0;
  uint32_t inlined_column = 0;
};

struct Pragma {
  std::string_view text;  // without quotes
  Position position;
};

// name: .branchtargets a, b;  or  name: .calltargets f, g;
struct Targets {
  bool calls = false;
  std::string_view name;
  Range operands;  // Module::operands: labels or functions
  Position position;
};

// What a call through a register needs: name: .callprototype (returns) _ (parameters) .noreturn;
struct Prototype {
  std::string_view name;
  Range returns;     // Module::variables
  Range parameters;  // Module::variables
  bool noreturn = false;
  uint32_t abi_preserve = kNone;
  uint32_t abi_preserve_control = kNone;
  Position position;
};

enum class StatementKind : uint8_t {
  kInstruction,  // Module::instructions
  kLabel,        // Module::labels
  kDeclaration,  // Module::variables
  kLoc,          // Module::locs
  kPragma,       // Module::pragmas
  kTargets,      // Module::targets
  kPrototype,    // Module::prototypes
  kScopeBegin,   // index unused
  kScopeEnd,
};

struct Statement {
  StatementKind kind;
  uint32_t index;
};

// Registers [first, first + count) of a function are declared by one variable.
struct RegisterRange {
  uint32_t first = 0;
  uint32_t count = 0;
  uint32_t variable = kNone;  // Module::variables
};

using Dimensions = std::array<uint32_t, 3>;  // x, y, z of a directive

inline constexpr uint32_t kMaxRegisters = 1u << 24;  // of a function, including those of module scope

// How many register numbers a .reg declaration takes: each element of a vector has its own.
inline uint32_t RegisterCount(const Variable& variable) {
  return (variable.parameterised == 0 ? 1 : variable.parameterised) * variable.vector;
}

struct Function {
  bool is_entry = false;
  bool has_body = false;
  bool noreturn = false;
  bool explicit_cluster = false;
  bool blocks_are_clusters = false;
  bool unified = false;  // .attribute(.unified(...))
  Linkage linkage = Linkage::kNone;
  std::string_view name;
  Range returns;       // Module::variables
  Range parameters;    // Module::variables
  Range statements;    // Module::statements; scopes appear as begin/end pairs, the outermost not
  Range instructions;  // Module::instructions: the same instructions, for readers that need no order with
                       // labels
  Range operands;      // Module::operands, all of the body's
  Range pragmas;       // Module::pragmas in the header, before the body
  Dimensions maxntid = {};  // all-zero: directive absent; else missing dimensions are 1
  Dimensions reqntid = {};
  Dimensions reqnctapercluster = {};
  uint32_t maxclusterrank = 0;  // 0: absent, so for the next three
  uint32_t maxnreg = 0;
  uint32_t minnctapersm = 0;
  uint32_t maxnctapersm = 0;
  uint32_t abi_preserve = kNone;
  uint32_t abi_preserve_control = kNone;
  uint32_t register_count = 0;                 // dense register numbers
  std::vector<RegisterRange> register_ranges;  // sorted by first, covering 0 .. register_count - 1
  Position position;
  // The first instruction that names a module-scope register or .local variable (PTX before 3.0); line
  // 0: none.
  Position shared_private_use;
};

// .target sm_90a, texmode_independent, debug
struct Target {
  uint32_t sm = 0;  // 90; 75 for compute_75 too
  char suffix = 0;  // 'a', 'f' or 0
  bool texmode_independent = false;
  bool debug = false;
  bool map_f64_to_f32 = false;
  std::vector<std::string_view> words;  // all of them, as written
};

struct File {
  uint32_t index = 0;
  std::string_view name;
  Position position;
};

// Debug data, not interpreted: .section .debug_str { ... }
struct Section {
  std::string_view name;  // ".debug_str"
  std::string_view body;  // between the braces
  Position position;
};

struct Alias {
  std::string_view name;
  std::string_view target;
  uint32_t function = kNone;  // resolved target
  Position position;
};

struct Module {
  std::shared_ptr<const std::string> text;  // never null after Parse; all views point here or into `spelled`
  std::string file_name;
  uint32_t version_major = 0;
  uint32_t version_minor = 0;
  Target target;
  uint32_t address_size = 64;

  // In source order.
  std::vector<uint32_t> globals;  // module-scope variables, indices into `variables`
  std::vector<Function> functions;
  std::vector<File> files;
  std::vector<Section> sections;
  std::vector<Alias> aliases;
  std::vector<uint32_t> module_pragmas;  // indices into `pragmas`

  // Pools.
  std::vector<Variable> variables;
  std::vector<Statement> statements;
  std::vector<Instruction> instructions;
  std::vector<Operand> operands;
  std::vector<Opcode> opcodes;
  std::vector<std::string_view> words;
  std::vector<uint64_t> dimensions;
  std::vector<Label> labels;
  std::vector<Loc> locs;
  std::vector<Pragma> pragmas;
  std::vector<Targets> targets;
  std::vector<Prototype> prototypes;
  std::vector<std::shared_ptr<const std::string>> spelled;  // names and opcodes not spelled so in the text

  template <typename T>
  static std::span<const T> Slice(const std::vector<T>& pool, Range range) {
    return std::span<const T>(pool).subspan(range.first, range.count);
  }
  std::span<const Operand> Operands(const Instruction& i) const { return Slice(operands, i.operands); }
  std::span<const Operand> Children(const Operand& o) const { return Slice(operands, o.children); }
  const Opcode& OpcodeOf(const Instruction& i) const { return opcodes[i.opcode]; }
  std::span<const std::string_view> Modifiers(const Opcode& o) const { return Slice(words, o.modifiers); }
  std::span<const Statement> Statements(const Function& f) const { return Slice(statements, f.statements); }
  std::span<const Instruction> Instructions(const Function& f) const {
    return Slice(instructions, f.instructions);
  }
  std::span<const Variable> Variables(Range range) const { return Slice(variables, range); }
  std::span<const uint64_t> Dimensions(const Variable& v) const { return Slice(dimensions, v.dimensions); }

  // The declaration of a register of `function`.
  const Variable& RegisterDeclaration(const Function& function, uint32_t register_number) const;
  const Function* FindFunction(std::string_view name) const;  // the definition before a declaration; or null
};

// "%tid", "%laneid" ...: the name of a SymbolKind::kSpecialRegister symbol, without component.
std::string_view SpecialRegisterName(uint32_t symbol);
inline constexpr uint32_t kNotSpecial = kNone;
uint32_t FindSpecialRegister(std::string_view name);  // kNotSpecial if it is not one

// An error at a place of the module: fills in file, line, column and the line itself.
Error ErrorAt(const Module& module, Position position, ErrorCode code, std::string message,
              std::string hint = {});

}  // namespace ptx2cpu::ptx::ast

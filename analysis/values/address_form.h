// Addresses as polynomials over a thread's values (ids, parameters, variables, others), so that
// the addresses of two threads can be subtracted.
//
// Arithmetic of 32 and 64 bits is followed modulo its width. A 32-bit polynomial that may wrap becomes one
// atom of the 64-bit one (`kWiden`); one that cannot is spread into it. An atom is *uniform* when it has one
// value for all threads of the block and for all of the launch; only such atoms cancel between threads.
#pragma once

#include <array>
#include <map>

#include "analysis/values/uniformity.h"
#include "ir/function.h"

namespace ptx2cpu::analysis {

struct Term {
  std::vector<uint32_t> atoms;  // ascending, with repetition; the product of them
  int64_t factor = 0;
  friend bool operator==(const Term&, const Term&) = default;
};

struct Polynomial {
  std::vector<Term> terms;  // ascending by atoms; no factor is zero
  int64_t constant = 0;
  friend bool operator==(const Polynomial&, const Polynomial&) = default;
};

enum class AtomKind : uint8_t {
  kThreadX,  // %tid.x, .y, .z: the thread's place in its block
  kThreadY,
  kThreadZ,
  kExtent,    // %ntid: how many of them there are
  kSpecial,   // another special register that stays as it is
  kVariable,  // address of a module variable
  kWindow,    // real address of the shared window
  kParamBase,
  kFrozen,     // loaded from parameters or constants
  kWiden,      // a 32-bit polynomial, zero- or sign-extended
  kOperation,  // a pure instruction over polynomials
  kValue,      // anything else
};

struct Atom {
  AtomKind kind = AtomKind::kValue;
  bool uniform = false;
  bool is_signed = false;      // kWiden
  uint32_t index = 0;          // kVariable: the variable; kExtent: the axis
  int64_t low = 0, high = -1;  // bounds of the value; low > high: not known
  Polynomial inner;            // kWiden: modulo 2^32; kFrozen: where it was loaded from
};

// What an address points into, if known.
struct MemoryObject {
  enum class Kind : uint8_t { kUnknown, kVariable, kParameter } kind = Kind::kUnknown;
  uint32_t index = 0;  // kVariable: the module's variable; kParameter: an atom
  friend bool operator==(const MemoryObject&, const MemoryObject&) = default;
};

// A - B for addresses of two threads: constant + sum of first[k] * id[k] of A's thread - second[k] * id[k] of
// B's. Ids: x, y, z, and the linear id of a block of unknown shape. `known` is false when the difference has
// other parts.
struct AddressDifference {
  bool known = false;
  int64_t constant = 0;
  std::array<int64_t, 4> first{}, second{};
};

class AddressForms {
 public:
  // Forms of the values in `addresses` and of all they are computed from.
  AddressForms(const ir::Module& module, const ir::Function& f, const UniformityResult& uniformity,
               LaunchShape shape, const std::vector<ir::ValueId>& addresses);

  const Polynomial& Of(ir::ValueId value) const { return forms_[value.index]; }
  MemoryObject ObjectOf(const Polynomial& address) const;
  // A real address of shared memory as an offset in the window; false when it is not known to be one.
  bool ToWindowOffset(Polynomial& address) const;

  // Addresses of two different threads, at any two times of the kernel.
  AddressDifference BetweenThreads(const Polynomial& a, const Polynomial& b) const;
  // Addresses of one thread where every value both are made of is the same for both.
  AddressDifference SameThread(const Polynomial& a, const Polynomial& b) const;
  // Whether bytes [0, first_bytes) at A and [0, second_bytes) at B may overlap for two different threads.
  bool MayOverlap(const AddressDifference& difference, int64_t first_bytes, int64_t second_bytes) const;

 private:
  using Key = std::vector<int64_t>;
  void FindNeeded(const std::vector<ir::ValueId>& addresses);
  Polynomial FormOf(const ir::Inst& inst, uint32_t result);
  Polynomial Arithmetic(const ir::Inst& inst, uint32_t result);
  Polynomial SpecialRegister(const ir::Inst& inst, ir::ValueId result);
  Polynomial Widened(const ir::Inst& inst);
  Polynomial Operation(const ir::Inst& inst, uint32_t result);
  int64_t NumberOf(const ir::Attrs& attributes);
  Polynomial Opaque(ir::ValueId value);
  Polynomial Single(const Key& key, Atom atom);
  bool Uniform(const Polynomial& p) const;
  bool Uniform(const Term& term) const;
  bool Bounds(const Polynomial& p, int64_t& low, int64_t& high) const;
  bool TakeLinearId(Polynomial& p, int64_t& factor) const;
  AddressDifference Subtract(Polynomial a, Polynomial b, bool same_thread, bool wide) const;
  bool SubtractWidened(const std::vector<Term>& a, const std::vector<Term>& b, bool same_thread,
                       AddressDifference& difference) const;
  bool AnyOverlap(const AddressDifference& difference, const std::array<int64_t, 4>& extents,
                  int64_t first_bytes, int64_t second_bytes) const;

  const ir::Function& f_;
  const UniformityResult& uniformity_;
  LaunchShape shape_;
  std::vector<bool> needed_, in_loop_;
  std::vector<Polynomial> forms_;
  std::vector<ir::Attrs> attributes_;  // of operations, each once
  std::vector<Atom> atoms_;
  std::map<Key, uint32_t> numbers_;
};

}  // namespace ptx2cpu::analysis

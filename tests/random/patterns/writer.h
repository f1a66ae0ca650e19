// The writer of one kernel; one function per statement kind.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/random/generator/random_words.h"
#include "tests/random/generator/text_writer.h"
#include "tests/random/patterns/tree.h"

namespace ptx2cpu::random_patterns {

using random_kernels::RandomWords;

// What is known at the place of a statement.
struct Place {
  bool together = true;                    // all threads of the block that have not ended
  std::vector<std::string> counters = {};  // of the loops around
  // The ones whose values no two threads of the grid share, and their bounds.
  std::vector<std::pair<std::string, uint32_t>> own = {};
  uint32_t trips = 1;  // at most
};

// How one element is loaded or stored.
struct Element {
  const char* suffix;  // of ld and st
  uint32_t bytes;      // of one
  uint32_t count;      // of a vector
  bool is_float;
  uint32_t Size() const { return bytes * count; }
};

// Elements side by side that a thread goes through, and what it adds up.
struct Row {
  const char* suffix;  // of ld and st
  uint32_t bytes;      // of an element
  bool is_double;
  uint32_t length = 0, pitch = 0;  // elements
  std::string sum = {};
  bool IsWide() const { return bytes == 8; }
};

// Registers of 16 bits: f16 or bf16.
struct Halves {
  std::string type, low, high;
};

inline constexpr uint32_t kVariables = 3, kFloatVariables = 2;  // %a<n>, %g<n>
// Words of shared memory: a tile, a table of atomics, and some words of each thread.
inline constexpr uint32_t kTileWords = 1024, kTableWords = 64, kLocalWords = 8, kConstants = 64;
inline constexpr uint32_t kOwnWords = 4, kOwnBegin = 4 * (kTileWords + kTableWords);

class Writer : random_kernels::TextWriter {
 public:
  Writer(const Tree& tree, std::string kernel) : tree_(tree), kernel_(std::move(kernel)) {}
  std::string Run();  // with the run line

 private:
  // -- text --
  std::string Short() { return fmt::format("%s{}", shorts_++); }
  std::string FloatReg() { return fmt::format("%f{}", floats_++); }
  std::string NewLabel() { return fmt::format("L{}", labels_++); }
  template <typename... Words>
  std::string ComputeFloat(std::string_view opcode, Words&&... words) {
    return Into(FloatReg(), opcode, std::forward<Words>(words)...);
  }
  template <typename... Words>
  std::string ComputeWide(std::string_view opcode, Words&&... words) {
    return Into(Wide(), opcode, std::forward<Words>(words)...);
  }
  template <typename... Words>
  std::string Test(std::string_view opcode, Words&&... words) {
    return Into(Predicate(), opcode, std::forward<Words>(words)...);
  }

  // -- write_kernel.cpp --
  void Prologue();
  void StoreHash();
  std::string Declarations() const;
  std::string RunLine() const;
  void Fold(const std::string& value);  // into the hash
  std::string OneNan(const std::string& value);
  void FoldFloat(const std::string& value);
  void Assign(const std::string& value, RandomWords& random);  // to a variable now and then, and fold

  // -- write_indices.cpp --
  std::string Atom(const Place& place, RandomWords& random);  // a place, a counter, a number
  std::string Uniform(const Place& place, RandomWords& random);
  std::string Index(const Place& place, RandomWords& random, uint32_t depth);
  std::string Condition(const Place& place, RandomWords& random);  // predicate
  std::string UniformCondition(const Place& place, RandomWords& random);
  std::string Bounded(const std::string& index, uint32_t size, RandomWords& random);
  std::string WideBounded(const std::string& index, uint32_t size, RandomWords& random);  // b64
  std::string Address(const std::string& base, const std::string& index, uint32_t scale, RandomWords& random);
  std::string SharedAddress(const std::string& index, RandomWords& random);
  std::string Cell(const Place& place, RandomWords& random, uint32_t& cells);
  std::string ThreadCell(const Place& place, RandomWords& random, uint32_t& cells);
  std::string Permuted(const std::string& place, uint32_t size, RandomWords& random);

  // -- write_values.cpp --
  void Integer(const Node& node, const Place& place);
  void Compare(const Node& node, const Place& place);
  void Float(const Node& node, const Place& place);
  void Half(const Node& node, const Place& place);
  void Convert(const Node& node, const Place& place);
  void Pack(const Node& node, const Place& place);
  std::string FloatValue(const Place& place, RandomWords& random);

  // -- write_memory.cpp --
  void LoadInto(const std::string& space, const Element& element, const std::string& address,
                const std::string& guard, RandomWords& random);
  void StoreFrom(const std::string& space, const Element& element, const std::string& address,
                 const std::string& guard, const Place& place, RandomWords& random);
  void Load(const Node& node, const Place& place);
  void LoadSelected(const Node& node, const Place& place);
  void LoadNeighbours(const Node& node, const Place& place);
  void Store(const Node& node, const Place& place);
  void LoadOwn(const Node& node, const Place& place);
  void Local(const Node& node, const Place& place);
  void OwnShared(const Node& node, const Place& place);
  void GlobalAtomic(const Node& node, const Place& place);
  void AtomicResult(const Node& node, const Place& place);
  void SharedAtomic(const Node& node, const Place& place);

  // -- write_rows.cpp --
  void OverRow(const Row& row, RandomWords& random,
               const std::function<void(const std::string& number)>& body);
  std::string ElementAt(const Row& row, const std::string& base, const std::string& begin,
                        const std::string& k, RandomWords& random);  // its address
  void AddToSum(const Row& row, const std::string& value);
  void AddElement(const Row& row, const std::string& address);
  void OwnRow(const Row& row, const Place& place, uint32_t word, RandomWords& random);
  void Rows(const Node& node, const Place& place);
  std::string WordOfHalves(const Place& place, RandomWords& random);
  Halves OtherHalves(const Halves& halves, const Place& place, RandomWords& random);
  void ScaleHalves(const Halves& made, const Halves& halves, const Place& place, RandomWords& random);
  void ChooseHalves(const Halves& made, const Halves& x, const Halves& y, RandomWords& random);
  void StepOfHalves(const Halves& halves, const Place& place, RandomWords& random);
  void HalvesOfWord(const Node& node, const Place& place);

  // -- write_blocks.cpp --
  void Barrier() { Line("bar.sync 0"); }
  void Exchange(const Node& node, const Place& place);
  void Halo(const Node& node, const Place& place);
  void Fill(const Node& node, const Place& place);
  void Halving(const Node& node, const Place& place);
  void WarpSum(const Node& node, const Place& place);
  void Ballot(const Node& node, const Place& place);

  // -- write_control.cpp --
  void Write(const Body& body, Place& place);
  void Write(const Node& node, Place& place);
  void Arm(const Node& node, size_t arm, Place place, bool together);
  void If(const Node& node, Place& place);
  void UniformIf(const Node& node, Place& place);
  void Loop(const Node& node, Place& place);
  void VaryingLoop(const Node& node, Place& place);
  void StridedLoop(const Node& node, Place& place);
  void Exit(const Node& node, Place& place);

  struct Area {  // that a statement has stored to with `ThreadCell`s of the same words
    uint32_t offset, word;
    Element element;
  };

  const Tree& tree_;
  std::string kernel_;
  uint32_t shorts_ = 0, floats_ = 0;
  uint32_t stored_bytes_ = 0;
  uint32_t SharedWords() const {
    return kTileWords + kTableWords + (uses_own_ ? kOwnWords * tree_.BlockThreads() : 0);
  }
  bool uses_shared_ = false, uses_table_ = false, uses_local_ = false, uses_own_ = false, ended_ = false;
  std::vector<Area> areas_;
};

}  // namespace ptx2cpu::random_patterns

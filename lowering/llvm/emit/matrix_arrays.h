// Arrays that hold the registers of matrix fragments in memory for the functions of runtime/warp/matrix.def:
// each fragment is one array, its registers one after the other, 32 lanes each.
//
// Within a run of IR blocks, each of which is the only predecessor of the next (across loops over lanes that
// compute addresses, for example), a fragment stays in its array from the instruction that makes it to its
// last use. The next product reads the array that a load or a product has written, products add to
// accumulators in place, and arrays are used again. Only values that other instructions read become vectors
// as well. Data that products derive from a fragment is computed once for each fragment, and freed with it.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/function.h"
#include "lowering/llvm/emit/lane_step.h"

namespace ptx2cpu::lowering {

struct FunctionEmitter;

class MatrixArrays {
 public:
  explicit MatrixArrays(FunctionEmitter& e) : e_(e) {}
  // Nothing is in memory where a run of blocks begins. A run's blocks are emitted one after the other.
  void Begin(ir::BlockId block);

  struct Array;
  struct Fragment {
    llvm::Value* pointer;
    Array* array;
    size_t begin;  // the first of its registers in the array
  };
  // The array that holds these values; `kept` (<32 x i1>): other lanes are zero in it. Null: lanes are as
  // they are.
  Fragment Of(std::span<const ir::ValueId> values, llvm::Value* kept);
  // What the function `prepare` of runtime/warp/matrix.def makes of the fragment.
  llvm::Value* Prepared(const Fragment& fragment, llvm::Function* prepare, uint32_t form);
  // Called after an instruction that uses them: they have one use fewer.
  void Used(std::span<const ir::ValueId> values);
  // Room for the results of an instruction: the accumulator's array, if nothing needs it any more.
  llvm::Value* Room(std::span<const ir::ValueId> results, llvm::Value* accumulator);
  // Called after the code that has filled it: makes vectors of the values that other instructions read.
  void Filled(std::span<const ir::ValueId> results, bool lanes_are_kept);
  // Called after an instruction: frees the arrays without a further use for the next one. Filled does that as
  // well.
  void FreeReleased();

  struct Array {
    struct Derived {
      size_t begin;
      llvm::Function* prepare;
      uint32_t form;
      Array* array;
    };
    llvm::AllocaInst* memory;
    llvm::Type* element;
    size_t registers;
    uint32_t uses = 0;  // uses of its values by the run's instructions
    bool is_kept = false;
    std::vector<Derived> prepared = {};
  };

 private:
  struct Place {
    Array* array;
    size_t number;
  };

  void Free(Array& array);
  void FreePrepared(Array& array);
  Array& Take(llvm::Type* element, size_t registers);
  void Put(ir::ValueId value, Array& array, size_t number);
  llvm::Value* Vector(ir::ValueId value);
  llvm::Value* Pointer(const Array& array, size_t number);
  void CountUses(ir::BlockId first);
  void FindRuns();
  void FindReaders();

  FunctionEmitter& e_;
  std::vector<std::unique_ptr<Array>> arrays_;
  std::multimap<std::pair<llvm::Type*, size_t>, Array*> free_;
  std::vector<Array*> released_;                 // by the current instruction, which still uses them
  std::unordered_map<uint32_t, Place> places_;   // by value
  std::unordered_map<uint32_t, uint32_t> uses_;  // by value: as parts of fragments, in the run
  std::vector<bool> is_read_;                    // by value: by other instructions, or in another run
  std::vector<ir::BlockId> run_of_, next_;       // by block: the first of its run; the next one of it
  ir::BlockId last_;                             // that began
};

}  // namespace ptx2cpu::lowering

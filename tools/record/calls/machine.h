// Runs the statements of a group: opens libraries, makes arrays, calls functions by name, shows results.
//
// clang-format off
//   use SONAME                     opens a library
//   handle NAME...                 8 bytes of host memory each: NAME is the value, &NAME its address
//   device NAME TYPE COUNT FILL    an array of the device; host: of the host. FILL is `ints SEED [LIMIT]` (LIMIT 3),
//                                  `reals SEED`, `= VALUE...` by component (the last one repeats), `copy OTHER`
//   pointers NAME ARRAY STEP COUNT COUNT addresses, STEP elements apart, in device memory; hostpointers: in host memory
//   diagonal NAME N LD VALUE [BATCH]   sets the diagonals of matrices that lie N columns apart
//   hermitian NAME N LD            mirrors the lower triangle
//   values NAME ARGUMENT...        what these are as words, into an array of words in host memory
//   call FUNCTION ARGUMENT...      records the status; other verbs (calls/invoke.h): what they take as the result
//   show NAME [BOUND [COUNT]]      records the elements; those that never changed as .N
//   peek NAME TYPE COUNT           records a hash (FNV-1a) of the elements in host memory that NAME points to
//   ignore NAME                    its contents now are those that `show` takes as unchanged
// clang-format on
//
// Arguments: integers, null, NAME, NAME+ELEMENTS, &NAME, *NAME or *NAME+ELEMENTS (an integer in host memory),
// f:NUMBER, d:NUMBER (float and double) and c:NUMBER,NUMBER (two floats in one register; two doubles are d:
// and d:). All functions are called with words and doubles in registers, as the ABI of x86-64 has it.
//
// BOUND: `exact` (default); N: N epsilons of the largest element; phase:LD:N: the same after each column of
// LD elements is multiplied by a number of absolute value 1; rows:R:LD:BOUND: the first R of each LD
// elements; `any`: not compared.
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/record/calls/elements.h"
#include "tools/record/calls/invoke.h"
#include "tools/record/calls/script.h"

namespace ptx2cpu::calls {

class Machine {
 public:
  // What was recorded of the group, a line each; null while recording.
  Machine(const std::vector<std::string>* recorded, std::FILE* output)
      : recorded_(recorded), output_(output) {}

  // Writes the record, or the differences from the recorded one. False: there were some.
  bool Run(const Group& group);

 private:
  struct Array {
    ElementType type{};
    size_t count = 0;
    bool on_host = false;
    std::byte* address = nullptr;
    std::vector<std::byte> initial;
    size_t Bytes() const { return count * static_cast<size_t>(type.components) * type.bytes; }
  };
  using Words = std::vector<std::string>;

  void* Find(const std::string& function);
  std::byte* Allocate(bool on_host, size_t bytes);
  void Place(const std::string& name, Array array, const std::vector<std::byte>& contents);
  std::vector<std::byte> Contents(const Array& array);
  void Store(Array& array, const std::vector<std::byte>& contents);
  Array& Named(const std::string& name);
  int64_t Integer(const std::string& word);

  void Make(const Words& words);
  void MakePointers(const Words& words);
  void SetDiagonal(const Words& words);
  void MakeHermitian(const Words& words);
  void SetValues(const Words& words);
  CallArguments Arguments(const Words& words);
  void Call(const Words& words);
  void Show(const Words& words);
  void Peek(const Words& words);
  bool Step(const Words& words);  // false: the device is lost

  void Put(const std::string& line);
  const std::string* Next();
  void Differ(const std::string& ours, const std::string& theirs);

  const std::vector<std::string>* recorded_;
  std::FILE* output_;
  size_t next_ = 0;
  std::vector<void*> libraries_;
  std::map<std::string, Array> arrays_;
  std::vector<std::unique_ptr<std::vector<std::byte>>> host_memory_;
  std::byte *device_memory_ = nullptr, *device_end_ = nullptr;
  std::string last_call_, group_;
  int line_ = 0;
  bool equal_ = true, lost_ = false, call_differs_ = false;
};

}  // namespace ptx2cpu::calls

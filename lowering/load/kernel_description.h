// The contents of a kernel's descriptor (ptx2cpu_kernel) without its code: the fields of kernel_fields.def.
// Code generation makes it, the object writer and the JIT make descriptors from it, the cache keeps it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace ptx2cpu::lowering {

// The kinds of kernel_fields.def. Kinds without a value are types of their own, so that code that handles
// fields can have a function for each kind.
namespace field {
using Word = uint32_t;
using Byte = uint8_t;
using Three = std::array<uint32_t, 3>;
using Name = std::string;
struct Version {};
struct Block {};
struct Step {};
struct ParameterCount {};
struct PointCount {};
struct AlignmentCount {};
struct Unused {
  friend bool operator==(Unused, Unused) = default;
};
}  // namespace field

struct ParameterRow {
#define PARAMETER_FIELD(kind, name, meaning) field::kind name = {};
#include "runtime/abi/kernel_fields.def"
};
// Where threads of a resumable kernel wait.
struct PointRow {
#define POINT_FIELD(kind, name, meaning) field::kind name = {};
#include "runtime/abi/kernel_fields.def"
};
// With AlignmentChecks::kAssumed; found by code generation.
struct ParameterAlignment {
#define ALIGNMENT_FIELD(kind, name, meaning) field::kind name = {};
#include "runtime/abi/kernel_fields.def"
  friend bool operator==(const ParameterAlignment&, const ParameterAlignment&) = default;
};

namespace field {
using ParameterTable = std::vector<ParameterRow>;
using PointTable = std::vector<PointRow>;
using AlignmentTable = std::vector<ParameterAlignment>;
}  // namespace field

struct KernelDescription {
#define KERNEL_FIELD(kind, name, meaning) field::kind name = {};
#include "runtime/abi/kernel_fields.def"
  bool resumes = false;  // its code is a step function, else a block function
};

}  // namespace ptx2cpu::lowering

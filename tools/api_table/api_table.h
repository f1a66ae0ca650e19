// The API tables: one line per function that a CUDA library exports, and all that is generated from them.
//
// clang-format off
//   STATE  VERSIONS  VARIANT  DECLARATION
//
// STATE     implemented            a function of this name and type exists in the table's namespace
//           implemented:reports    the same; what it returns is not the result of this call (cudaGetLastError)
//           family:Name            the same for each function that the row names; each calls the template Name<T>(its own name,
//                                  its arguments), which the folder's families.h declares
//           refused:CODE           returns CODE and reports it on stderr, once per function
//           ignored                success without an effect
// VERSIONS  driver: the number that introduced this form (3020); runtime: major versions that export it (11-, 12, 11-12)
// VARIANT   -, ptsz or ptds: the function exists with that suffix too, and there the null stream is the thread's own;
//           64: the function exists with the suffix _64 too, from version 12 on, and there Int is int64_t
// A row is several functions where its name contains a list of type letters, cublas[S|D|C|Z]gemm: in its parameters
// T is the type of the letter and R the real type beside it (kLetters in read.cpp); Int is int.
// clang-format on
// A comment begins with '#'. Errors name file and line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/result.h"

namespace ptx2cpu::api_table {

enum class State : uint8_t { kImplemented, kReports, kFamily, kRefused, kIgnored };

struct Parameter {
  std::string declaration;  // "const void* const* list", as written in a parameter list
  std::string name;
};

struct Function {
  State state = State::kRefused;
  std::string code;     // refused: the result
  std::string family;   // the template, with the type of its letter: "Gemm<float>"
  int first = 0;        // of VERSIONS
  int last = 0;         // 1 << 30: open end
  std::string variant;  // "", "ptsz" or "ptds"
  std::string result;   // type
  std::string name;
  std::vector<Parameter> parameters;
  int line = 0;

  bool In(int major) const { return first <= major && major <= last; }
  std::string BaseName() const;  // without _v2, _v3 ...
  std::string ParameterList() const;
  std::string ArgumentList() const;
};

struct Table {
  std::string file;
  std::vector<Function> functions;
};

Result<Table> Read(const std::string& file);

// What is written depends on these: a row of libraries.def.
struct Target {
  std::string space;    // namespace below ptx2cpu: "driver", "cudart", "cublas"
  std::string file;     // the table, from the root: "runtime/cuda/driver/cuda.api"
  std::string header;   // with the types: "runtime/cuda/abi/driver_types.h"
  std::string folder;   // with exports.h, entries.h, families.h: "runtime/cuda/driver/core"
  std::string success;  // "CUDA_SUCCESS"
  std::string title;    // of the page: "CUDA driver API: the functions of `libcuda.so.1`"
};

// Declarations of all functions in the namespace.
std::string WriteDeclarations(const Table& table, const Target& target);
// Definitions of those that are refused or ignored.
std::string WriteRefused(const Table& table, const Target& target);
// Definitions of those of families.
std::string WriteFamilies(const Table& table, const Target& target);
// The exported functions. `major` 0: all rows.
std::string WriteExports(const Table& table, const Target& target, int major);
// What the linker may export, under the version node of a library; an empty node: without versions.
// `system_node`: the version that the program's references to the C library's functions have, for a library
// that defines some of them; empty: it defines none.
std::string WriteVersionScript(const Table& table, int major, const std::string& node,
                               const std::string& system_node = "");
// A C++ array of {base name, version, address, variant's address} and its registration, for look-up by name
// and version. Belongs after the exports.
std::string WriteEntries(const Table& table, const Target& target);
// The page for people: counts and every function with its state.
std::string WriteCoverage(const Table& table, const Target& target);

}  // namespace ptx2cpu::api_table

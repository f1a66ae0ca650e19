// LLVM function types of the C functions that generated code calls, read from the tables that declare them.
#pragma once

#include <llvm/IR/DerivedTypes.h>

#include <string_view>

namespace ptx2cpu::lowering {

enum class ServiceKind : uint8_t { kEntryPoint, kWarp, kMath, kMatrix };
enum class ServiceCode : uint8_t { kStraight, kBranches };  // math.def
struct ServiceInfo {
  std::string_view name;
  ServiceKind kind;
  llvm::FunctionType* (*type)(llvm::LLVMContext&);
  ServiceCode code;
};
const ServiceInfo* FindService(std::string_view name);
bool IsLibraryFunction(std::string_view name);  // of runtime/warp or runtime/math

}  // namespace ptx2cpu::lowering

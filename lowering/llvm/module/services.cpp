#include "lowering/llvm/module/services.h"

#include <llvm/IR/Type.h>

#include <type_traits>

#include "runtime/abi/abi.h"
#include "runtime/abi/check.h"
#include "runtime/abi/matrix.h"

extern "C" {
#define WARP(result, name, parameters, meaning) result name parameters;
#include "runtime/warp/collectives.def"
#undef WARP
#define MATH(result, name, parameters, code, meaning) result name parameters;
#include "runtime/math/math.def"
#undef MATH
#define MATRIX(name, parameters, meaning) void name parameters;
#include "runtime/warp/matrix.def"
#undef MATRIX
}

namespace ptx2cpu::lowering {

namespace {

template <typename T>
llvm::Type* TypeFor(llvm::LLVMContext& context) {
  if constexpr (std::is_void_v<T>) return llvm::Type::getVoidTy(context);
  if constexpr (std::is_pointer_v<T>) return llvm::PointerType::getUnqual(context);
  if constexpr (std::is_same_v<T, float>) return llvm::Type::getFloatTy(context);
  if constexpr (std::is_same_v<T, double>) return llvm::Type::getDoubleTy(context);
  if constexpr (std::is_integral_v<T>) return llvm::Type::getIntNTy(context, 8 * sizeof(T));
}

template <typename R, typename... P>
llvm::FunctionType* Signature(llvm::LLVMContext& context, R (*)(P...)) {
  return llvm::FunctionType::get(TypeFor<R>(context), {TypeFor<P>(context)...}, false);
}

constexpr ServiceInfo kServices[] = {
#define ENTRY(result, name, parameters, meaning) \
  {#name, ServiceKind::kEntryPoint,              \
   [](llvm::LLVMContext& c) { return Signature(c, decltype (&name)(nullptr)); }, ServiceCode::kBranches},
#include "runtime/abi/check_entries.def"
#include "runtime/abi/entry_points.def"
#undef ENTRY
#define WARP(result, name, parameters, meaning)                                                             \
  {#name, ServiceKind::kWarp, [](llvm::LLVMContext& c) { return Signature(c, decltype (&name)(nullptr)); }, \
   ServiceCode::kBranches},
#include "runtime/warp/collectives.def"
#undef WARP
#define MATH(result, name, parameters, code, meaning)                                                       \
  {#name, ServiceKind::kMath, [](llvm::LLVMContext& c) { return Signature(c, decltype (&name)(nullptr)); }, \
   ServiceCode::code},
#include "runtime/math/math.def"
#undef MATH
#define MATRIX(name, parameters, meaning) \
  {#name, ServiceKind::kMatrix,           \
   [](llvm::LLVMContext& c) { return Signature(c, decltype (&name)(nullptr)); }, ServiceCode::kBranches},
#include "runtime/warp/matrix.def"
#undef MATRIX
};

}  // namespace

const ServiceInfo* FindService(std::string_view name) {
  for (const ServiceInfo& service : kServices) {
    if (service.name == name) return &service;
  }
  return nullptr;
}

bool IsLibraryFunction(std::string_view name) {
  const ServiceInfo* service = FindService(name);
  return service != nullptr && service->kind != ServiceKind::kEntryPoint;
}

}  // namespace ptx2cpu::lowering

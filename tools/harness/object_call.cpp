#include "tools/harness/object_call.h"

#include <dlfcn.h>
#include <unistd.h>

#include <fstream>

namespace ptx2cpu::harness {

Result<std::shared_ptr<SharedObject>> SharedObject::Make(std::span<const ir::Module* const> kernels,
                                                         const lowering::ObjectOptions& options) {
  const std::string bytes = TRY(lowering::CompileFile(kernels, lowering::FileKind::kSharedObject, options));
  std::string name = (std::filesystem::temp_directory_path() / "ptx2cpu_XXXXXX.so").string();
  const int file = mkstemps(name.data(), 3);
  if (file < 0) return Fail(ErrorCode::kFile, "cannot make a temporary file");
  close(file);
  std::shared_ptr<SharedObject> object(new SharedObject);
  object->path_ = name;
  if (!(std::ofstream(name, std::ios::binary) << bytes))
    return Fail(ErrorCode::kFile, "cannot write '" + name + "'");
  TRY_STATUS(object->Reload());
  return object;
}

SharedObject::~SharedObject() {
  if (handle_ != nullptr) dlclose(handle_);
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

Status SharedObject::Reload() {
  if (handle_ != nullptr) dlclose(handle_);
  handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr)
    return Fail(ErrorCode::kFile, std::string("cannot load the compiled object: ") + dlerror());
  return {};
}

const ptx2cpu_kernel* SharedObject::Kernel(const std::string& ptx_name) const {
  return static_cast<const ptx2cpu_kernel*>(
      dlsym(handle_, ("ptx2cpu_kernel_" + lowering::CName(ptx_name)).c_str()));
}

std::byte* SharedObject::Variable(const std::string& name) const {
  if (void* visible = dlsym(handle_, name.c_str())) return static_cast<std::byte*>(visible);
  return static_cast<std::byte*>(dlsym(handle_, ("ptx2cpu_variable_" + lowering::CName(name)).c_str()));
}

}  // namespace ptx2cpu::harness

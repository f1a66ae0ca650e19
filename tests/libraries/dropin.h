// One of our libraries as a program sees it: opened by its soname, called by name.
#pragma once

#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <string>

namespace ptx2cpu {

class DropIn {
 public:
  explicit DropIn(const std::string& soname)
      : handle_(dlopen((std::string(PTX2CPU_BINARY_DIR "/lib/ptx2cpu/") + soname).c_str(),
                       RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) FAIL(dlerror());
  }
  void* Find(const std::string& name, const char* version = nullptr) const {
    return version == nullptr ? dlsym(handle_, name.c_str()) : dlvsym(handle_, name.c_str(), version);
  }
  // Calls the function of that name; the arguments must be passed as its parameters are, as a C program
  // passes them (int for an enumeration): the same call, but not the same C++ type.
  template <typename Result = int, typename... Args>
  __attribute__((no_sanitize("function"))) Result Call(const std::string& name, Args... args) const {
    void* const function = Find(name);
    if (function == nullptr) FAIL("no " << name);
    return reinterpret_cast<Result (*)(Args...)>(function)(args...);
  }

 private:
  void* handle_;
};

// Libraries that more than one file of tests calls.
inline const DropIn& Cufft() {
  static const DropIn library("libcufft.so.12");
  return library;
}
inline const DropIn& Cusparse() {
  static const DropIn library("libcusparse.so.12");
  return library;
}
inline const DropIn& Cusolver() {
  static const DropIn library("libcusolver.so.12");
  return library;
}
inline const DropIn& CublasLt() {
  static const DropIn library("libcublasLt.so.13");
  return library;
}

}  // namespace ptx2cpu

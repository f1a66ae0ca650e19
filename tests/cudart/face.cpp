#include "tests/cudart/face.h"

#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "tests/fatbin/file_builder.h"

namespace ptx2cpu::cudart_test {

Face::Face(int major)
    : major_(major),
      library_(dlopen((std::string(PTX2CPU_BINARY_DIR "/lib/ptx2cpu/libcudart.so.") +
                       (major == 11 ? "11.0" : std::to_string(major)))
                          .c_str(),
                      RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) FAIL(dlerror());
}

const Face& Face::Of(int major) {
  static const std::map<int, Face> faces = [] {
    std::map<int, Face> made;
    for (const int one : kMajors) made.emplace(one, Face(one));
    return made;
  }();
  return faces.at(major);
}

bool Face::Has(const char* name) const { return dlsym(library_, name) != nullptr; }

void* Face::Find(const char* name) const {
  void* const function = dlsym(library_, name);
  if (function == nullptr) FAIL("libcudart of CUDA " << major_ << " does not export " << name);
  return function;
}

std::string Module(std::string_view body) {
  return ".version 7.8\n.target sm_80\n.address_size 64\n" + std::string(body);
}

Registered::Registered(const Face& face, const std::vector<std::string>& texts, uint32_t sm) : face_(face) {
  const auto keep = [&](const std::string& bytes) {
    containers_.push_back(std::make_unique<std::byte[]>(bytes.size()));
    std::memcpy(containers_.back().get(), bytes.data(), bytes.size());
    return containers_.back().get();
  };
  for (const std::string& text : texts) {
    pieces_.push_back(keep(fatbin_test::BuildContainer({{.sm = sm, .data = text, .major = 7, .minor = 8}})));
  }
  wrapper_.container = pieces_[0];
  if (texts.size() > 1) {  // the device link's own container has machine code only
    pieces_.push_back(nullptr);
    wrapper_.version = 2;
    wrapper_.container = keep(fatbin_test::BuildContainer({fatbin_test::CubinSpec(sm)}));
    wrapper_.linked = pieces_.data();
  }
  handle_ = face.Get<void**(void*)>("__cudaRegisterFatBinary")(&wrapper_);
}

Registered::~Registered() { face_.Get<void(void**)>("__cudaUnregisterFatBinary")(handle_); }

void Registered::Function(const void* host, const char* name) {
  face_.Get<void(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*)>(
      "__cudaRegisterFunction")(handle_, static_cast<const char*>(host), const_cast<char*>(name), name, -1,
                                nullptr, nullptr, nullptr, nullptr, nullptr);
}

void Registered::Variable(void* host, const char* name, size_t size) {
  face_.Get<void(void**, char*, char*, const char*, int, size_t, int, int)>("__cudaRegisterVar")(
      handle_, static_cast<char*>(host), const_cast<char*>(name), name, 0, size, 0, 0);
}

void Registered::Managed(void** host, const char* name, size_t size) {
  face_.Get<void(void**, void**, char*, const char*, int, size_t, int, int)>("__cudaRegisterManagedVar")(
      handle_, host, const_cast<char*>(name), name, 0, size, 0, 0);
}

void Registered::End() { face_.Get<void(void**)>("__cudaRegisterFatBinaryEnd")(handle_); }

}  // namespace ptx2cpu::cudart_test

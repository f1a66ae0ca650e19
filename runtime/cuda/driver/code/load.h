// Finds the sources of modules in the arguments of the load functions: fat binaries, PTX text, files, and
// images that cuLinkComplete made.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/driver/code/jit_options.h"
#include "runtime/cuda/driver/code/module.h"

namespace ptx2cpu::driver {

// `call`: the function that the program called, for saved images. Errors go to the program's error log
// (Failed).
cuda::CUresult LoadImage(const char* call, const void* image, JitOptions& options, Sources& sources);
cuda::CUresult LoadFile(const char* call, const std::filesystem::path& file, JitOptions& options,
                        Sources& sources);
// The source of the image at an address, chosen for the reported device.
Result<Sources> SourcesOfImage(const void* image);
// Checks what was loaded: all PTX is checked where the image is PTX text or CUDA_MODULE_LOADING is EAGER.
template <typename T>
cuda::CUresult CheckLoaded(T& loaded, bool is_text, JitOptions& options);
bool IsPtxText(const void* image);
bool LoadsEagerly();

// Writes the error to the program's log. Without a log, an error that a GPU would not have is reported on
// stderr, each once; errors that a GPU has too are only returned, since programs load images to try them.
cuda::CUresult Failed(const Error& error, JitOptions& options);

template <typename T>
cuda::CUresult CheckLoaded(T& loaded, bool is_text, JitOptions& options) {
  if (!is_text && !LoadsEagerly()) return cuda::CUDA_SUCCESS;
  if (const Status status = loaded.Check(); !status) return Failed(status.error(), options);
  return cuda::CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver

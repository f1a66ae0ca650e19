// PTX2CPU_SAVE_PTX=DIR (ptx2cpu exec --save-ptx): the PTX of every image that the program loads, as files of
// DIR.
//
// A file is named by a hash of its text, so an image that is loaded again, or by several processes, is one
// file. DIR/index.tsv gets a line for each image and call: file, call, process, name of the image, separated
// by tabs; "-" as file where the image has no PTX that could be loaded, with the reason as name.
#pragma once

#include "runtime/cuda/driver/code/module.h"

namespace ptx2cpu::driver {

// Each costs one test of a pointer where nothing is saved. A file that cannot be written is reported once on
// stderr.
void SaveLoaded(const char* call, const Result<Sources>& loaded);
// A fat binary that __cudaRegisterFatBinary passes: saved now, since it is loaded only when the program needs
// it.
void SaveRegistered(const void* wrapper);
// Whether this address was registered, so that its image is saved already.
bool IsSavedRegistration(const void* image);

}  // namespace ptx2cpu::driver

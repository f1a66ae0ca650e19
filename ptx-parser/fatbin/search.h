// Finds PTX outside containers: plain text, gzip and zlib streams of it, and the parts of images that linking
// at run time made. Programs without a fat binary carry their kernels so.
#pragma once

#include <span>
#include <vector>

#include "ptx-parser/fatbin/format.h"
#include "ptx-parser/fatbin/warnings.h"

namespace ptx2cpu::ptx::fatbin {

// What is found, by offset, each image in a container of its own (version 0); parts of a linked image have
// their names as members. `taken`: ranges that are not searched, by begin: containers, sound or damaged (what
// is left of a damaged one has lost its options). At most `max_images`.
//
// A text counts as PTX where .version with a number and .target with a processor follow each other, and ends
// at a NUL or where a module cannot continue. The time is linear in the file's size; beyond a budget for what
// only looks like a stream or a header, a warning reports that the rest was not searched.
std::vector<Container> SearchOutsideContainers(Bytes file, std::span<const Range> taken, size_t max_images,
                                               WarningList& warnings);

}  // namespace ptx2cpu::ptx::fatbin

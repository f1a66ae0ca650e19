// The image that run-time linking returns: relocatable parts, which are linked when it is loaded. Its bytes
// may be copied and written to files, like those of a cubin. Format: eight letters, the number of parts; for
// each part the two lengths, the name, the content.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace ptx2cpu::rt {

struct LinkedPart {
  std::string name;
  std::string content;  // PTX text without NUL, or the bytes of a file that holds PTX
};

bool IsLinkedImage(const void* image);  // 8 bytes of it, or fewer where they differ
std::string MakeLinkedImage(std::span<const LinkedPart> parts);
std::vector<LinkedPart> ReadLinkedImage(const void* image);

}  // namespace ptx2cpu::rt

#include "runtime/engine/linked_image.h"

#include <cstdint>
#include <cstring>

#include "ptx-parser/fatbin/fatbin.h"

namespace ptx2cpu::rt {

namespace {

constexpr std::string_view kMagic = ptx::kLinkedImageMagic;

void AppendWord(std::string& to, uint64_t word) {
  to.append(reinterpret_cast<const char*>(&word), sizeof word);
}

uint64_t TakeWord(const char*& at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  at += sizeof word;
  return word;
}

}  // namespace

// The first four letters are compared first: PTX text may be shorter than eight.
bool IsLinkedImage(const void* image) {
  return std::memcmp(image, kMagic.data(), 4) == 0 && std::memcmp(image, kMagic.data(), kMagic.size()) == 0;
}

std::string MakeLinkedImage(std::span<const LinkedPart> parts) {
  std::string image(kMagic);
  AppendWord(image, parts.size());
  for (const LinkedPart& part : parts) {
    AppendWord(image, part.name.size());
    AppendWord(image, part.content.size());
    image += part.name + part.content;
  }
  return image;
}

std::vector<LinkedPart> ReadLinkedImage(const void* image) {
  std::vector<LinkedPart> parts;
  const char* at = static_cast<const char*>(image) + kMagic.size();
  for (uint64_t left = TakeWord(at); left > 0; --left) {
    const uint64_t name = TakeWord(at), content = TakeWord(at);
    parts.push_back({std::string(at, name), std::string(at + name, content)});
    at += name + content;
  }
  return parts;
}

}  // namespace ptx2cpu::rt

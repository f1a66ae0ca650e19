#include "lowering/llvm/output/content_hash.h"

#include <llvm-c/Core.h>
#include <llvm/Support/BLAKE3.h>

namespace ptx2cpu::lowering {

namespace {
constexpr std::string_view kTranslator =
#include PTX2CPU_TRANSLATOR_ID_FILE
    ;
}  // namespace

struct ContentHash::State {
  llvm::BLAKE3 hash;
};

ContentHash::ContentHash() : state_(std::make_unique<State>()) {}
ContentHash::~ContentHash() = default;

ContentHash& ContentHash::Add(uint64_t number) {
  uint8_t bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<uint8_t>(number >> (8 * i));
  state_->hash.update(llvm::ArrayRef<uint8_t>(bytes));
  return *this;
}

ContentHash& ContentHash::Add(std::string_view part) {
  Add(part.size());
  state_->hash.update(llvm::StringRef(part.data(), part.size()));
  return *this;
}

Digest ContentHash::Finish() { return state_->hash.final<32>(); }

Digest HashOf(std::string_view bytes) { return ContentHash().Add(bytes).Finish(); }

std::string Hex(const Digest& digest) {
  std::string text;
  for (const uint8_t byte : digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::string CompilerIdentity(const Target& target) {
  unsigned major = 0, minor = 0, patch = 0;
  LLVMGetVersion(&major, &minor, &patch);  // of the library that is loaded
  return std::string(kTranslator) + "\nllvm " + std::to_string(major) + "." + std::to_string(minor) + "." +
         std::to_string(patch) + "\n" + target.triple + "\n" + target.cpu + "\n" + target.features;
}

}  // namespace ptx2cpu::lowering

#include "runtime/engine/module_facts.h"

#include <utility>

#include "lowering/translator/identity.h"
#include "runtime/engine/cache/image_bytes.h"
#include "runtime/engine/contained.h"

namespace ptx2cpu::rt {

namespace {

Digest KeyOf(std::string_view what, std::string_view kernel, const Digest& content) {
  return ContentHash().Add(lowering::TranslatorIdentity()).Add(what).Add(kernel).Add(content).Finish();
}

}  // namespace

template <typename T, typename Make>
Result<T> ModuleFacts::Kept(const Digest& key, const Make& make) const {
  const auto content = cache_ == nullptr ? std::nullopt : cache_->Find(key);
  if (auto kept = content ? FromBytes<T>(*content) : std::nullopt) return *std::move(kept);
  Result<T> made = make();
  if (made && cache_ != nullptr) cache_->Keep(key, BytesOf(*made));
  return made;
}

Status ModuleFacts::Check() const {
  const Digest key = KeyOf("check", "", source_.Content());
  if (cache_ != nullptr && cache_->Find(key)) return {};
  const Parsed whole = TRY(source_.Whole());
  TRY_STATUS(Contained([&] { return whole->CheckInstructions(); }));
  if (cache_ != nullptr) cache_->Keep(key, "");
  return {};
}

Result<lowering::DeclaredVariables> ModuleFacts::Variables() const {
  const Digest key = KeyOf("variables", "", source_.ContentOfVariables());
  return Kept<lowering::DeclaredVariables>(key, [&]() -> Result<lowering::DeclaredVariables> {
    Parsed part = TRY(source_.PartForVariables());
    return Contained([&] {
      const Parsed freed_here = std::move(part);
      return freed_here->Variables();
    });
  });
}

Result<lowering::KernelDeclaration> ModuleFacts::Declaration(std::string_view kernel) const {
  const Digest key = KeyOf("declaration", kernel, source_.ContentOf(kernel));
  return Kept<lowering::KernelDeclaration>(key, [&]() -> Result<lowering::KernelDeclaration> {
    Parsed part = TRY(source_.PartFor(kernel));
    return Contained([&] {
      const Parsed freed_here = std::move(part);
      return freed_here->Declaration(kernel);
    });
  });
}

}  // namespace ptx2cpu::rt

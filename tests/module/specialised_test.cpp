// Code for blocks of one shape is an improvement, never a condition: where it cannot be made, the code for
// any shape runs. The linker puts the function below before TheTranslator (--wrap in tests/CMakeLists.txt),
// so that tests can make it fail; the product has no switch for that.
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "ir/internal_error.h"
#include "runtime/engine/kernel_module.h"
#include "runtime/engine/translator_object.h"

using namespace ptx2cpu;

#define THE_TRANSLATOR "_ZN7ptx2cpu2rt13TheTranslatorEv"
Result<const lowering::Translator*> RealTranslator() __asm__("__real_" THE_TRANSLATOR);
Result<const lowering::Translator*> WrappedTranslator() __asm__("__wrap_" THE_TRANSLATOR);

namespace {

// What happens where code for a shape is requested, by the test's thread or in the background.
class ShapeRequests {
 public:
  struct Answer {
    std::function<void()> before = nullptr;  // throws what is to be thrown
    std::optional<Error> failure = std::nullopt;
  };
  void AnswerWith(Answer answer) {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
  }
  Answer Next() {
    const std::lock_guard lock(mutex_);
    ++count_;
    return answer_;
  }
  size_t count() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  mutable std::mutex mutex_;
  Answer answer_;
  size_t count_ = 0;
};

ShapeRequests requests;

// A branch on %tid.y around a barrier: warps that suspend, unless blocks are known to have one row.
constexpr const char* kRows = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry rows(.param .u64 out)
{
  .reg .pred %p; .reg .b32 %x, %y, %n, %s, %word; .reg .b64 %out, %at;
  .shared .align 4 .b8 words[4096];
  ld.param.u64 %out, [out];
  mov.u32 %x, %tid.x;
  mov.u32 %y, %tid.y;
  mov.u32 %n, %ntid.x;
  mov.u32 %s, words;
  setp.ne.u32 %p, %y, 0;
  @%p bra DONE;
  mad.lo.u32 %s, %x, 4, %s;
  st.shared.u32 [%s], %x;
  bar.sync 0;
DONE:
  bar.sync 0;
  mov.u32 %s, words;
  sub.u32 %n, %n, 1;
  sub.u32 %n, %n, %x;
  mad.lo.u32 %s, %n, 4, %s;
  ld.shared.u32 %word, [%s];
  mul.wide.u32 %at, %x, 4;
  add.s64 %at, %out, %at;
  st.global.u32 [%at], %word;
  ret;
}
)";

constexpr Dim3 kBlock = {32, 1, 1};

// The real module, except that tests can make compilations for a shape fail.
class FailingModule final : public lowering::TranslatedModule {
 public:
  explicit FailingModule(std::shared_ptr<const lowering::TranslatedModule> real) : real_(std::move(real)) {}
  Status CheckInstructions() const override { return real_->CheckInstructions(); }
  Result<lowering::DeclaredVariables> Variables() const override { return real_->Variables(); }
  Result<lowering::KernelDeclaration> Declaration(std::string_view kernel) const override {
    return real_->Declaration(kernel);
  }
  Result<lowering::KernelImage> Describe(std::string_view kernel,
                                         const lowering::CodeOptions& options) const override {
    return real_->Describe(kernel, options);
  }
  Place PlaceOf(uint32_t ptx_line) const override { return real_->PlaceOf(ptx_line); }
  Result<std::optional<ir::FaultingAccess>> ThreadOf(std::string_view kernel, const ir::FaultOfBlock& fault,
                                                     std::span<const std::byte> params,
                                                     std::span<const Storage> variables) const override {
    return real_->ThreadOf(kernel, fault, params, variables);
  }
  Result<std::optional<lowering::KernelImage>> Compile(
      std::string_view kernel, const lowering::CodeOptions& options,
      const lowering::CompileControl& control) const override {
    if (!options.block) return real_->Compile(kernel, options, control);
    const ShapeRequests::Answer answer = requests.Next();
    if (answer.before) answer.before();
    if (answer.failure) return Fail(*answer.failure);
    return real_->Compile(kernel, options, control);
  }

 private:
  const std::shared_ptr<const lowering::TranslatedModule> real_;
};

class FailingTranslator final : public lowering::Translator {
 public:
  explicit FailingTranslator(const lowering::Translator* translator) : real(translator) {}
  Result<std::shared_ptr<const lowering::TranslatedModule>> Parse(lowering::PtxSource source) const override {
    return std::make_shared<FailingModule>(TRY(real->Parse(std::move(source))));
  }
  Result<std::shared_ptr<const lowering::TranslatedModule>> Link(
      std::vector<lowering::PtxSource> sources) const override {
    return std::make_shared<FailingModule>(TRY(real->Link(std::move(sources))));
  }
  uint32_t PtxLineOf(const lowering::KernelImage& image, uint64_t text_offset) const override {
    return real->PtxLineOf(image, text_offset);
  }
  std::vector<lowering::CodeLine> LinesOf(const lowering::KernelImage& image) const override {
    return real->LinesOf(image);
  }
  std::vector<std::string_view> OptionalPasses() const override { return real->OptionalPasses(); }

 private:
  const lowering::Translator* real;
};

std::vector<uint32_t> Run(const ptx2cpu_kernel& kernel) {
  std::vector<uint32_t> words(32, 77);
  uint32_t* const out = words.data();
  const auto fault = rt::Launch(kernel, {{1, 1, 1}, kBlock}, std::as_bytes(std::span(&out, 1)));
  if (fault) FAIL(fault->message);
  return words;
}

bool IsRight(const std::vector<uint32_t>& words) {
  for (uint32_t i = 0; i < words.size(); ++i) {
    if (words[i] != 31 - i) return false;
  }
  return true;
}

std::shared_ptr<const rt::KernelCode> Compiled() {
  const auto module = rt::KernelModule::Make({{kRows, "rows.ptx"}}, {.cache = nullptr});
  auto code = module->Compile("rows");
  if (!code) FAIL(code.error().Render());
  return *std::move(code);
}

}  // namespace

Result<const lowering::Translator*> WrappedTranslator() {
  static const Result<const lowering::Translator*> real = RealTranslator();  // background threads call too
  static const FailingTranslator translator(TRY(real));
  return &translator;
}

TEST_CASE("a kernel that resumes has other code for a shape that spares it, with the same results") {
  const auto code = Compiled();
  const auto special = code->ForBlock(kBlock);
  REQUIRE(special);
  CHECK(*special != &code->kernel());
  CHECK((*special)->run_step == nullptr);
  CHECK(code->kernel().run_step != nullptr);
  CHECK(IsRight(Run(**special)));
  CHECK(IsRight(Run(code->kernel())));
}

TEST_CASE("where code for a shape fails for a reason of ours, the code for any shape runs") {
  const auto way = GENERATE(range(0, 4));
  ShapeRequests::Answer answer;
  if (way == 0)
    answer.failure = Error{.code = ErrorCode::kInternal, .message = "the verifier found an error"};
  if (way == 1) answer.before = [] { CheckFailed("a == b", "pass.cpp", 12, "They differ."); };
  if (way == 2) answer.before = [] { throw std::bad_alloc(); };
  if (way == 3) answer.failure = Error{.code = ErrorCode::kUnsupported, .message = "not in this shape"};
  const auto code = Compiled();
  requests.AnswerWith(std::move(answer));
  const size_t before = requests.count();
  const auto chosen = code->ForBlock(kBlock);
  requests.AnswerWith({});
  INFO("way " << way);
  REQUIRE(chosen);
  CHECK(*chosen == &code->kernel());
  CHECK(IsRight(Run(**chosen)));
  // The same answer later, without another attempt.
  REQUIRE(code->ForBlock(kBlock));
  CHECK(*code->ForBlock(kBlock) == &code->kernel());
  CHECK(requests.count() == before + 1);
  // Other shapes are not affected.
  const auto other = code->ForBlock({16, 1, 1});
  REQUIRE(other);
  CHECK(*other != &code->kernel());
}

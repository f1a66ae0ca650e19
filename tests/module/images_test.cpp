// Which PTX is taken out of memory and files.
#include "runtime/engine/images.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <iterator>

#include "runtime/engine/linked_image.h"

using namespace ptx2cpu;

namespace {

std::string Bytes(const std::string& name) {
  std::ifstream in(std::string(PTX2CPU_SOURCE_DIR "/corpus/bin/") + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Wrapper {
  uint32_t magic = 0x466243B1, version = 1;
  const void* container = nullptr;
  const void* const* linked = nullptr;
};

}  // namespace

TEST_CASE("a fat binary in memory gives the highest PTX that the device runs") {
  const std::string fatbin = Bytes("atomics.fatbin");
  REQUIRE(fatbin.size() > 16);
  const Wrapper wrapper{.container = fatbin.data()};
  for (const void* image : {static_cast<const void*>(fatbin.data()), static_cast<const void*>(&wrapper)}) {
    const auto newest = rt::SourceInMemory(image, 90, "image"),
               older = rt::SourceInMemory(image, 80, "image");
    REQUIRE(newest);
    REQUIRE(older);
    CHECK(newest->texts[0].name == "image(sm_90)");
    CHECK(older->texts[0].name == "image(sm_75)");
    CHECK(rt::SourceInMemory(image, 70, "image").error().code == ErrorCode::kNoPtx);
  }
}

TEST_CASE("what is no PTX is refused by kind") {
  const char cubin[32] =
      "\x7f"
      "ELF\2\1\1";
  const auto code = rt::SourceInMemory(cubin, 90, "image");
  CHECK(code.error().code == ErrorCode::kNoPtx);
  CHECK(code.error().hint.find("compute_XY") != std::string::npos);
  const char lto[32] =
      "\xed"
      "CN\x7f\1";
  const auto intermediate = rt::SourceInMemory(lto, 90, "image");
  CHECK(intermediate.error().code == ErrorCode::kNoPtx);
  CHECK(intermediate.error().message.find("LTO IR") != std::string::npos);
  CHECK(rt::SourceInMemory("", 90, "image").error().code == ErrorCode::kUsage);
  CHECK(rt::SourceInMemory("no such thing", 90, "image").error().code == ErrorCode::kUsage);
  const auto text = rt::SourceInMemory("// c\n.version 8.0\n.target sm_80\n", 90, "image");
  REQUIRE(text);
  CHECK(text->texts[0].text == "// c\n.version 8.0\n.target sm_80\n");
}

TEST_CASE("what run-time linking put together is one module of all its parts") {
  const std::string text = ".version 8.0\n.target sm_80\n", fatbin = Bytes("atomics.fatbin"),
                    nothing(64, '\0');
  const std::string library =
      "!<arch>\nnothing.o/      0           0     0     644     64        `\n" + nothing;
  const std::string runtime = text + ".extern .func __cuda_syscall_x();\n";
  const std::vector<rt::LinkedPart> parts = {
      {"text", text}, {"library", library}, {"runtime", runtime}, {"fatbin", fatbin}};
  const std::string image = rt::MakeLinkedImage(parts);
  REQUIRE(rt::IsLinkedImage(image.data()));
  CHECK_FALSE(rt::IsLinkedImage(text.data()));
  const auto linked = rt::SourceOfLinkedImage(image.data(), 90);
  INFO((linked ? "" : linked.error().Render()));
  REQUIRE(linked);
  REQUIRE(linked->texts.size() ==
          2);  // a library may do without PTX; the toolkit's device runtime is built in
  CHECK(linked->texts[0].text == text);
  CHECK(linked->texts[1].name.find("fatbin") == 0);
  CHECK(linked->texts[1].text.find(".version") != std::string::npos);
  const std::string code = std::string(
                               "\x7f"
                               "ELF\2\1\1",
                               7) +
                           std::string(57, '\0');
  const auto machine =
      rt::SourceOfLinkedImage(rt::MakeLinkedImage(std::vector<rt::LinkedPart>{{"code", code}}).data(), 90);
  REQUIRE_FALSE(machine);
  CHECK(machine.error().code == ErrorCode::kNoPtx);
}

TEST_CASE("a device link without PTX of its own is made of its relocatable parts") {
  const std::string one = Bytes("atomics.fatbin"), two = Bytes("bfs.fatbin");
  const void* parts[] = {one.data(), two.data(), nullptr};
  uint32_t empty[4] = {0xBA55ED50, 0x00100001, 0, 0};
  const Wrapper wrapper{.version = 2, .container = empty, .linked = parts};
  const auto source = rt::SourceInMemory(&wrapper, 90, "image");
  if (!source) FAIL(source.error().Render());
  REQUIRE(source->texts.size() == 2);
  CHECK(source->texts[1].name == "image#1(sm_90)");
}

TEST_CASE("a file's containers are one module each") {
  const auto sources = rt::SourcesInFile(PTX2CPU_SOURCE_DIR "/corpus/bin/atomics.fatbin", 90);
  REQUIRE(sources);
  REQUIRE(sources->size() == 1);
  CHECK(rt::KernelModule::Make((*sources)[0].texts)->Defines("atomic_kinds"));
  CHECK_FALSE(rt::SourcesInFile("/nowhere", 90));
}

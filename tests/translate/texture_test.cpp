// Textures and surfaces: where handles come from, samplers of independent mode, and what is refused by name
// and line.
#include "ir/image.h"
#include "tests/translate/run_ptx.h"

using namespace ptx2cpu;
using namespace ptx2cpu::ptx::test;

namespace {

const ir::Inst& First(const ir::Module& module, ir::Opcode op) {
  for (const ir::Inst& inst : module.functions[0].insts) {
    if (inst.op == op && inst.block.valid()) return inst;
  }
  FAIL("no such instruction");
  std::abort();
}

const ir::Inst& Definition(const ir::Module& module, ir::ValueId value) {
  const ir::Function& f = module.functions[0];
  return f.at_inst(f.at_value(value).def);
}

}  // namespace

TEST_CASE("the handle of a named texture is what its variable holds") {
  for (const char* body : {"tex.1d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [t, {%f0}];",
                           "mov.u64 %rd2, t;\ntex.1d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd2, {%f0}];"}) {
    const ir::Module module = TranslateText(Kernel(body, ".global .texref t;\n"));
    const ir::Inst& texture = First(module, ir::Opcode::kTexture);
    CHECK(texture.results.size() == 4);
    const ir::Inst& handle = Definition(module, texture.operands[0]);
    REQUIRE(handle.op == ir::Opcode::kLoad);
    const ir::Inst& address = Definition(module, handle.operands[0]);
    REQUIRE(address.op == ir::Opcode::kSymbol);
    CHECK(module.variables[address.attrs.index].name == "t");
    CHECK(module.variables[address.attrs.index].size == 8);
    CHECK(Definition(module, texture.operands[1]).attrs.bits == 0);  // no sampler of its own
  }
}

TEST_CASE("a texture may be a kernel's parameter") {
  const ir::Module module =
      TranslateText(Header(".visible .entry k(.param .u64 p, .param .texref t) {\n.reg .f32 %f<8>;\n"
                           "tex.1d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [t, {%f0}];\nret;\n}\n"));
  const ir::Inst& handle = Definition(module, First(module, ir::Opcode::kTexture).operands[0]);
  REQUIRE(handle.op == ir::Opcode::kLoad);
  CHECK(handle.attrs.space == ir::Space::kParam);
  CHECK(module.functions[0].params[1].size == 8);
}

TEST_CASE("a sampler's initialiser becomes the bits that its variable holds") {
  namespace image = ir::image;
  const ir::Module module = TranslateText(
      ".version 9.0\n.target sm_90, texmode_independent\n.address_size 64\n.global .texref t;\n"
      ".global .samplerref s = { addr_mode_0 = clamp_to_border, addr_mode_1 = mirror, filter_mode = linear,\n"
      "                          force_unnormalized_coords = 1 };\n"
      ".visible .entry k() {\n.reg .f32 %f<8>;\ntex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [t, s, {%f0, "
      "%f5}];\nret;\n}\n");
  uint64_t bits = 0;
  for (const ir::Variable& variable : module.variables) {
    if (variable.name == "s") std::memcpy(&bits, variable.initial.data(), variable.initial.size());
  }
  const uint64_t expected = image::kSamplerPresent | image::kSamplerLinear | image::kSamplerUnnormalized |
                            static_cast<uint64_t>(image::Address::kBorder) << 4 |
                            static_cast<uint64_t>(image::Address::kMirror) << 8 |
                            static_cast<uint64_t>(image::Address::kClamp) << 12;
  CHECK(bits == expected);
  CHECK(Definition(module, First(module, ir::Opcode::kTexture).operands[1]).op == ir::Opcode::kLoad);
}

TEST_CASE("what textures cannot do is refused by name and line") {
  struct Case {
    const char *body, *before, *message;
    ErrorCode code;
  };
  const Case cases[] = {
      {"tex.2dms.v4.f32.s32 {%f1,%f2,%f3,%f4}, [%rd1, {%r0,%r1,%r2,%r2}];", "", "multisample",
       ErrorCode::kUnsupported},
      {"tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1}];", "", "too few coordinates", ErrorCode::kSyntax},
      {"tex.2d.v4.f32.f32 {%f1,%f2}, [%rd1, {%f1,%f2}];", "", "4 registers", ErrorCode::kSyntax},
      {"tex.level.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1,%f2}];", "", "level", ErrorCode::kSyntax},
      {"tex.1d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [t, {%f1}];", ".global .u64 t;", "not a .texref",
       ErrorCode::kSyntax},
      {"tex.1d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%r1, {%f1}];", "", "64 bits", ErrorCode::kSyntax},
      {"suld.b.2d.b32.trap %r1, [%rd1, {%r0}];", "", "[a, {coordinates}]", ErrorCode::kSyntax},
      {"istypep.samplerref %p1, %rd1;", "", "istypep.samplerref", ErrorCode::kUnsupported},
  };
  for (const Case& c : cases) {
    INFO(c.body);
    const Error error = TranslateError(Kernel(c.body, c.before));
    CHECK(error.code == c.code);
    CHECK_THAT(error.message, Catch::Contains(c.message));
    CHECK(error.at.line == 8);
  }
}

TEST_CASE("the address of a texture in an initialiser is refused") {
  const Error error =
      TranslateError(Kernel("ld.global.u64 %rd2, [a];", ".global .texref t;\n.global .u64 a[1] = {t};\n"));
  CHECK(error.code == ErrorCode::kUnsupported);
  CHECK_THAT(error.message, Catch::Contains("texture"));
}

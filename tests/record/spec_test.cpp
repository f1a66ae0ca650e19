// The SPEC language of kernel arguments: values, buffers, generators, and what it refuses.
#include "tools/record/spec.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/scratch_folder.h"
#include "tools/record/small_float.h"

namespace ptx2cpu::rt {
namespace {

Argument Parsed(std::string_view spec, const std::filesystem::path& directory = {}) {
  Result<Argument> argument = ParseSpec(spec, directory);
  INFO(spec << (argument ? "" : ": " + argument.error().message));
  REQUIRE(argument.has_value());
  return *argument;
}

template <typename T>
std::vector<T> Values(std::string_view spec) {
  const Argument argument = Parsed(spec);
  std::vector<T> values(argument.data.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), argument.data.data(), argument.data.size());
  return values;
}

}  // namespace

TEST_CASE("SPEC scalars: decimal, hex and bits of floats") {
  CHECK(Values<uint32_t>("u32:4294967295") == std::vector<uint32_t>{0xffffffff});
  CHECK(Values<int8_t>("s8:-128") == std::vector<int8_t>{-128});
  CHECK(Values<uint16_t>("b16:-1") == std::vector<uint16_t>{0xffff});
  CHECK(Values<uint64_t>("u64:0xFFFFFFFFFFFFFFFF") == std::vector<uint64_t>{~0ull});
  CHECK(Values<int32_t>("s32:0x80000000") == std::vector<int32_t>{INT32_MIN});
  CHECK(Values<float>("f32:2.5") == std::vector<float>{2.5f});
  CHECK(Values<uint32_t>("f32:0x7fc00001") == std::vector<uint32_t>{0x7fc00001});
  CHECK(Values<uint32_t>("f32:-0.0") == std::vector<uint32_t>{0x80000000});
  CHECK(Values<uint32_t>("f32:1e-45") == std::vector<uint32_t>{1});
  CHECK(Values<float>("f32:-inf")[0] == -INFINITY);
  CHECK(std::isnan(Values<double>("f64:nan")[0]));
  CHECK(Values<uint16_t>("f16:1.5") == std::vector<uint16_t>{0x3e00});
  CHECK(Values<uint16_t>("bf16:-2") == std::vector<uint16_t>{0xc000});
}

TEST_CASE("SPEC buffers and structs") {
  CHECK(Values<int16_t>("in:s16:[1,-2,0x7fff]") == std::vector<int16_t>{1, -2, 0x7fff});
  CHECK(Values<uint8_t>("in:u8:[]").empty());
  CHECK(Values<double>("out:f64:3") == std::vector<double>{0, 0, 0});
  CHECK(Values<uint8_t>("bytes:hex(00ffA5)") == std::vector<uint8_t>{0, 0xff, 0xa5});
  CHECK(Parsed("out:u8:1").IsWritten());
  CHECK(Parsed("inout:u8:[1]").IsWritten());
  CHECK_FALSE(Parsed("in:u8:[1]").IsWritten());
  CHECK_FALSE(Parsed("u8:1").IsBuffer());

  const test::ScratchFolder folder;
  const std::string file = folder / "eight.bin";
  std::ofstream(file, std::ios::binary) << "abcdefgh";
  CHECK(Parsed("in:u32:@eight.bin", folder.path()).count() == 2);
  CHECK(Parsed("bytes:@" + file).data.size() == 8);
}

TEST_CASE("SPEC images") {
  const Argument image = Parsed(
      "texture:3d,size=4x6x2,channels=2,levels=2,linearfilter,address=wrap/border,name=t:u8:gen(iota,108,0)");
  REQUIRE(image.image);
  CHECK(image.image->shape == ImageShape::k3d);
  CHECK(image.image->slices == 2);
  CHECK(image.image->Level(1).width == 2);
  CHECK(image.image->Level(1).slices == 1);
  CHECK(image.image->address ==
        std::array{ImageAddress::kWrap, ImageAddress::kBorder, ImageAddress::kBorder});
  CHECK(image.image->linear_filter);
  CHECK(image.image->max_lod == 1);
  CHECK_FALSE(image.IsParameter());
  CHECK_FALSE(image.IsWritten());
  const Argument surface = Parsed("surface:cube,size=1x1:f32:[1,2,3,4,5,6]");
  CHECK(surface.IsWritten());
  CHECK(surface.IsParameter());
  for (const char* wrong :
       {"texture:2d,size=4:f32:[1,2,3,4]", "texture:2d,size=2x2:f32:[1,2,3]",
        "texture:2d,size=2x2,channels=3:u8:[1]", "texture:2d,size=1x1,address=sideways:u8:[1]",
        "texture:1d,size=1:f64:[1]", "texture:1d,size=1,blue:u8:[1]"}) {
    INFO(wrong);
    CHECK_FALSE(ParseSpec(wrong));
  }
}

TEST_CASE("SPEC generators give the documented numbers") {
  // splitmix64 from state 0, as published: e220a8397b1dcdaf 6e789e6aa1b965f4 06c45d188009454f
  CHECK(Values<uint64_t>("in:u64:gen(bits,3,0)") ==
        std::vector<uint64_t>{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f});
  CHECK(Values<uint8_t>("in:u8:gen(bits,3,0)") == std::vector<uint8_t>{0xaf, 0xf4, 0x4f});
  CHECK(Values<int32_t>("in:s32:gen(iota,4,-3,2)") == std::vector<int32_t>{-3, -1, 1, 3});
  CHECK(Values<float>("in:f32:gen(iota,3,0.5,0.25)") == std::vector<float>{0.5f, 0.75f, 1.0f});
  CHECK(Values<uint16_t>("in:u16:gen(constant,2,7)") == std::vector<uint16_t>{7, 7});
  CHECK(Values<int64_t>("in:s64:gen(uniform,1,0,-10,10)")[0] ==
        -10 + static_cast<int64_t>(0xe220a8397b1dcdaf % 21));
  CHECK(Values<double>("in:f64:gen(uniform,1,0)")[0] == std::ldexp(0xe220a8397b1dcdaf >> 11, -53));
  for (const float value : Values<float>("in:f32:gen(uniform,1000,5,-2,3)"))
    CHECK((value >= -2 && value <= 3));
  const auto offsets = Values<uint32_t>("in:u32:gen(offsets,100,9,1,4)");
  CHECK(offsets[0] == 0);
  for (size_t i = 1; i < offsets.size(); ++i)
    CHECK((offsets[i] > offsets[i - 1] && offsets[i] <= offsets[i - 1] + 4));
  for (const uint32_t value : Values<uint32_t>("in:u32:gen(floats,500,5,8,100,103)"))
    CHECK(((value >> 23 & 255) >= 100 && (value >> 23 & 255) <= 103));
  const auto halves = Values<uint16_t>("in:u16:gen(floats,2000,3,5,1,30,4)");
  CHECK(std::ranges::count(halves, 0x7c00) > 20);
  CHECK(std::ranges::count(halves, 0x8001) > 20);
  auto order = Values<uint32_t>("in:u32:gen(permutation,50,1)");
  CHECK_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  CHECK(order == Values<uint32_t>("in:u32:gen(iota,50,0)"));
}

TEST_CASE("SPEC refuses what it cannot mean") {
  const char* const spec = GENERATE(
      "", "u32", "u32:", "u32:-1", "u8:256", "s8:128", "s8:-129", "u33:1", "u32:1x", "f32:abc", "u8:0x100",
      "in:u32", "in:u32:", "in:u32:[1,]", "in:u32:[1", "in:u32:@/no/such/file", "in:f32:gen(uniform,5)",
      "in:f32:gen(nothing,5,1)", "in:f32:gen(permutation,5,1)", "in:u32:gen(bits,99999999999999,1)",
      "in:u16:gen(floats,5,1,15,0,1)", "in:u16:gen(floats,5,1,5,2,32)", "out:u32:-1",
      "out:u64:18446744073709551615", "bytes:hex(0)", "bytes:hex(zz)", "bytes:1");
  INFO(spec);
  const Result<Argument> argument = ParseSpec(spec);
  REQUIRE_FALSE(argument.has_value());
  CHECK_FALSE(argument.error().message.empty());
}

TEST_CASE("values print as JSON and as bits") {
  CHECK(FormatJsonLine(2, *FindScalarType("f32"), Parsed("in:f32:[0.1,nan,-inf]").data) ==
        R"({"arg": 2, "type": "f32", "values": [0.100000001, "nan", "-inf"]})");
  CHECK(FormatJsonLine(0, *FindScalarType("s8"), Parsed("in:s8:[-1]").data) ==
        R"({"arg": 0, "type": "s8", "values": [-1]})");
  CHECK(FormatJsonLine(0, *FindScalarType("f16"), Parsed("in:f16:[1]").data, true) ==
        R"({"arg": 0, "type": "f16", "values": ["0x3c00"]})");
}

TEST_CASE("small floats: every value survives, halves round to even") {
  for (const FloatFormat format : {kHalf, kBfloat16}) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      const double value = DecodeSmallFloat(bits, format);
      if (!std::isnan(value) && EncodeSmallFloat(value, format) != bits) FAIL_CHECK(bits);
    }
  }
  CHECK(EncodeSmallFloat(65519.99, kHalf) == 0x7bff);
  CHECK(EncodeSmallFloat(65520, kHalf) == 0x7c00);
  CHECK(EncodeSmallFloat(std::ldexp(1, -25), kHalf) == 0);
  CHECK(EncodeSmallFloat(std::ldexp(1.0001, -25), kHalf) == 1);
  CHECK(EncodeSmallFloat(1 + std::ldexp(3, -11), kHalf) == 0x3c02);
  CHECK(EncodeSmallFloat(NAN, kHalf) == 0x7fff);
}

}  // namespace ptx2cpu::rt

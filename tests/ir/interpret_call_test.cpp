// Calls: direct, indirect, recursive, with local memory, and the device runtime's functions.
#include "interpret_evaluate.h"

namespace ptx2cpu::ir::interpret_test {

namespace {

const char* const kFunctions = R"(
function @triple (x: i32) -> (r: i32) phase simt {
^e(%x: i32):
  %three = const i32 3
  %r = mul i32 %x, %three
  ret %r
}
function @factorial (n: i32) -> (r: i32) phase simt {
^e(%n: i32):
  %one = const i32 1
  %small = icmp i32 ule %n, %one
  cond_br %small, ^base, ^more
^base:
  ret %one
^more:
  %n1 = sub i32 %n, %one
  %f: i32 = call @factorial %n1
  %r = mul i32 %n, %f
  ret %r
}
function @forever () phase simt {
^e:
  call @forever ; ptx 50
  ret
}
function @local_sum (n: i32) -> (r: i32) phase simt local_bytes 4 {
  local @x size 4 align 4 offset 0
^e(%n: i32):
  %zero = const i32 0
  %one = const i32 1
  %x = symbol local @x
  store i32 local %x, %n
  %end = icmp i32 eq %n, %zero
  cond_br %end, ^stop, ^go
^stop:
  ret %zero
^go:
  %n1 = sub i32 %n, %one
  %rest: i32 = call @local_sum %n1
  %mine = load i32 local %x
  %r = add i32 %mine, %rest
  ret %r
}
function @two (x: i32) -> (a: i32, b: f32) phase simt {
^e(%x: i32):
  %f = s_to_f f32 from i32 rn %x
  ret %x, %f
}
function @end_thread () phase simt {
^e:
  exit
}
declare function @vprintf (format: i64, arguments: i64) -> (r: i32) phase simt
declare function @malloc (size: i64) -> (r: i64) phase simt
declare function @free (pointer: i64) phase simt
declare function @__assertfail (message: i64, file: i64, line: i32, function: i64, size: i64) phase simt noreturn
declare function @unknown () phase simt
)";

std::string CallingKernel(const std::string& body, const std::string& variables = {}) {
  return variables + kFunctions + R"(kernel @k (out: i64 @0) phase simt local_bytes 64 {
  local @args size 64 align 8 offset 0
^entry:
  %base = param_base
  %out = load i64 param %base
)" + body +
         "}\n";
}

uint32_t RunForOne(const std::string& body) {
  Program program(CallingKernel(body));
  std::vector<uint32_t> out(2);
  program.AddBuffer(out);
  program.RunOrFail();
  return out[0];
}
Error CallToError(const std::string& body, const std::string& variables = {}) {
  Program program(CallingKernel(body, variables));
  std::vector<uint32_t> out(2);
  program.AddBuffer(out);
  return program.RunToError();
}

// A global variable that holds the text.
std::string Text(const std::string& name, const std::string& text) {
  std::string hex;
  for (char c : text + '\0') {
    constexpr char kDigits[] = "0123456789abcdef";
    hex += kDigits[static_cast<unsigned char>(c) >> 4];
    hex += kDigits[c & 15];
  }
  return "variable global @" + name + " align 1 size " + std::to_string(text.size() + 1) + " = \"" + hex +
         "\"\n";
}

}  // namespace

TEST_CASE("interpret call: direct, recursive, several results") {
  CHECK(RunForOne("  %x = const i32 5\n  %r: i32 = call @triple %x\n  store i32 global %out, %r\n  ret\n") ==
        15);
  CHECK(RunForOne(
            "  %x = const i32 10\n  %r: i32 = call @factorial %x\n  store i32 global %out, %r\n  ret\n") ==
        3628800);
  CHECK(RunForOne("  %x = const i32 7\n  %a: i32, %b: f32 = call @two %x\n  %c = bitcast i32 from f32 %b\n"
                  "  store i32 global %out, %c\n  ret\n") == F32(7));
}

TEST_CASE("interpret call: every call has its own local variables") {
  CHECK(RunForOne(
            "  %x = const i32 10\n  %r: i32 = call @local_sum %x\n  store i32 global %out, %r\n  ret\n") ==
        55);
}

TEST_CASE("interpret call: through an address, also one from memory") {
  std::string body = R"(  %x = const i32 6
  %table = symbol global @table
  %f = load i64 global %table
  %r: i32 = call_indirect #0 %f, %x
  %g = function_address @factorial
  %s: i32 = call_indirect #0 %g, %r
  store i32 global %out, %r
  ret
)";
  Program program(
      "variable global @table align 8 size 8\n  relocation 0 function @triple\nsignature #0 (x: i32) -> (r: "
      "i32)\n" +
      CallingKernel(body));
  std::vector<uint32_t> out(1);
  program.AddBuffer(out);
  program.RunOrFail();
  CHECK(out[0] == 18);
  CHECK(Contains(CallToError("  %f = const i64 64\n  %r: i32 = call_indirect #0 %f\n  ret\n",
                             "signature #0 () -> (r: i32)\n")
                     .message,
                 "which is not a function"));
}

TEST_CASE("interpret call: endless recursion and undefined functions are faults") {
  Error deep = CallToError("  call @forever\n  ret\n");
  CHECK(Contains(deep.message, "in forever: call of forever nests deeper"));
  CHECK(deep.at.line == 50);
  Error unknown = CallToError("  call @unknown\n  ret\n");
  CHECK(unknown.code == ErrorCode::kUnsupported);
  CHECK(Contains(unknown.message, "call of unknown, which is declared but not defined"));
}

TEST_CASE("interpret call: exit in a function ends the thread") {
  CHECK(RunForOne("  %x = const i32 1\n  store i32 global %out, %x\n  call @end_thread\n  trap\n") == 1);
}

TEST_CASE("interpret call: printf formats the promoted arguments") {
  std::string body = R"(  %args = symbol local @args
  %i = const i32 -5
  store i32 local %args, %i
  %c8 = const i64 8
  %a8 = add i64 %args, %c8
  %d = const f64 2.5
  store f64 local %a8, %d
  %c16 = const i64 16
  %a16 = add i64 %args, %c16
  %name = symbol global @name
  store i64 local %a16, %name
  %c24 = const i64 24
  %a24 = add i64 %args, %c24
  %big = const i64 0x123456789a
  store i64 local %a24, %big
  %c32 = const i64 32
  %a32 = add i64 %args, %c32
  %letter = const i32 65
  %width = const i32 6
  store i32 local align 4 %a32, %letter, %width
  %c40 = const i64 40
  %a40 = add i64 %args, %c40
  %hex = const i32 255
  store i32 local %a40, %hex
  %format = symbol global @format
  %generic = to_generic local %args
  %r: i32 = call @vprintf %format, %generic
  store i32 global %out, %r
  ret
)";
  Program program(
      CallingKernel(body, Text("format", "%d %.2f %s %llx %c [%*x] 100%%\n") + Text("name", "warp")));
  std::vector<uint32_t> out(1);
  program.AddBuffer(out);
  std::string printed;
  program.options.print = [&](std::string_view text) { printed += text; };
  program.RunOrFail();
  CHECK(printed == "-5 2.50 warp 123456789a A [    ff] 100%\n");
  CHECK(out[0] == 7);
}

TEST_CASE("interpret call: malloc and free") {
  CHECK(RunForOne(R"(  %n = const i64 16
  %p: i64 = call @malloc %n
  %x = const i32 42
  store i32 %p, %x
  %y = load i32 %p
  call @free %p
  store i32 global %out, %y
  ret
)") == 42);
  CHECK(Contains(CallToError("  call @free %out\n  ret\n").message, "which malloc did not return"));
  Error after = CallToError(R"(  %n = const i64 16
  %p: i64 = call @malloc %n
  call @free %p
  %y = load i32 %p
  ret
)");
  CHECK(Contains(after.message, "this address is in no memory of the launch"));
}

TEST_CASE("interpret call: a failed assertion names its place") {
  Error error = CallToError(R"(  %m = symbol global @message
  %f = symbol global @file
  %line = const i32 77
  %fn = symbol global @fn
  %one = const i64 1
  call @__assertfail %m, %f, %line, %fn, %one ; ptx 60
  unreachable
)",
                            Text("message", "x < 3") + Text("file", "a.cu") + Text("fn", "kernel()"));
  CHECK(error.code == ErrorCode::kFault);
  CHECK(error.at.line == 60);
  CHECK(Contains(error.message, "thread (0,0,0): a.cu:77: kernel(): assertion `x < 3` failed"));
}

}  // namespace ptx2cpu::ir::interpret_test

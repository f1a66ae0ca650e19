// The program as its users meet it: verbs, outputs, exit codes, messages.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "tests/tool/run_tool.h"

using namespace ptx2cpu::tool_test;
using Catch::Matchers::Contains;

TEST_CASE("run prints buffers as JSON lines") {
  Scratch scratch;
  const std::string add =
      "run '" + kCorpus +
      "vector_add.fatbin' --kernel vector_add --grid 2 --block 4 --arg 'in:f32:[1,2,3,4,5,6,7,inf]' "
      "--arg 'in:f32:[10,20,30,40,50,0x7f800000,nan,1]' --arg out:f32:8 --arg u32:8";
  Output output = Run(scratch, add);
  CHECK(output.code == 0);
  CHECK(output.out ==
        "{\"arg\": 2, \"type\": \"f32\", \"values\": [11, 22, 33, 44, 55, \"inf\", \"nan\", \"inf\"]}\n");
  for (const char* engine : {" --jit", " --interpret", " --threads 1", " --collapse=hierarchical",
                             " --exec=warp", " --opt 0", " --width 1", " --width 4", " --width 64"})
    CHECK(Run(scratch, add + engine).out == output.out);
  output = Run(scratch, add + " --bits");
  CHECK_THAT(output.out, Contains("\"0x41300000\", \"0x41b00000\""));
  output = Run(scratch, add + " --save 2=" + scratch / "sum.bin");
  CHECK(output.out.empty());
  CHECK(Slurp(scratch / "sum.bin").size() == 32);
}

TEST_CASE("warm fills the cache once, reports what is refused, and a run finds it there") {
  Scratch scratch;
  const std::string good =
      ".visible .entry good(.param .u64 out) { .reg .b64 %p; ld.param.u64 %p, [out]; st.global.u32 [%p], 7; "
      "ret; }\n";
  fs::create_directory(scratch.path() / "files");
  scratch.Write("files/a.ptx", kHead + good);
  scratch.Write(
      "files/b.ptx",
      kHead + std::string(
                  ".visible .entry bad() { frobnicate.u32 %r1; ret; }\n.visible .entry fine() { ret; }\n"));
  scratch.Write("files/notes.txt", "no CUDA here");
  const auto warm = [&](const std::string& words) {
    const std::string command = "env -u CUDA_CACHE_DISABLE CUDA_CACHE_PATH='" + scratch / "cache" + "' " +
                                kTool + " " + words + " > '" + scratch / "out" + "' 2> '" + scratch / "err" +
                                "'";
    const int status = std::system(command.c_str());
    return Output{WEXITSTATUS(status), Slurp(scratch.path() / "out"), Slurp(scratch.path() / "err")};
  };
  Output output = warm("warm " + scratch / "files");
  CHECK(output.code == 0);
  CHECK_THAT(output.out, Contains("a.ptx: 1 kernels, 0 already in the cache, 1 compiled, 0 refused") &&
                             Contains("refused bad: ") && Contains("(line 4)") &&
                             Contains("3 kernels in 2 files, 0 already in the cache, 2 compiled, 1 refused"));
  output = warm("warm --json " + scratch / "files");
  CHECK_THAT(output.out,
             Contains("\"kernels\": 3, \"hits\": 2, \"compiled\": 0, \"written\": 0, \"refused\": 1") &&
                 Contains("\"kernel\": \"bad\""));
  size_t entries = 0;
  for (const auto& entry : fs::recursive_directory_iterator(scratch.path() / "cache"))
    entries += entry.is_regular_file();
  CHECK(entries == 2);
  output =
      warm("run " + scratch / "files/a.ptx" + " --arg out:u32:1");  // takes it from there, writes nothing
  CHECK(output.out == "{\"arg\": 0, \"type\": \"u32\", \"values\": [7]}\n");
  for (const auto& entry : fs::recursive_directory_iterator(scratch.path() / "cache"))
    entries -= entry.is_regular_file();
  CHECK(entries == 0);
  CHECK(warm("warm " + scratch / "files/notes.txt").code != 0);
  CHECK(warm("warm").code == 2);
}

TEST_CASE("run takes buffers from files and structs by value") {
  Scratch scratch;
  const std::string file = scratch.Write("in.bin", std::string("\x01\0\0\0\x02\0\0\0", 8));
  const std::string ptx =
      scratch.Write("k.ptx", std::string(kHead) +
                                 ".visible .entry k(.param .u64 io, .param .align 4 .b8 pair[8]) { .reg .b64 "
                                 "%p; .reg .b32 %i, %a, %b; mov.u32 %i, %tid.x; ld.param.u64 %p, [io];"
                                 " mad.wide.u32 %p, %i, 4, %p; ld.global.u32 %a, [%p]; ld.param.u32 %b, "
                                 "[pair+4]; add.u32 %a, %a, %b; st.global.u32 [%p], %a; ret; }\n");
  const std::string pair = scratch.Write("pair.bin", std::string("\x07\0\0\0\x09\0\0\0", 8));
  const Output output =
      Run(scratch, "run " + ptx + " --block 2 --arg inout:u32:@" + file + " --arg bytes:@" + pair);
  CHECK(output.code == 0);
  CHECK(output.out == "{\"arg\": 0, \"type\": \"u32\", \"values\": [10, 11]}\n");
}

TEST_CASE("wrong calls are refused with what is wrong and what to do") {
  Scratch scratch;
  const std::string file = "'" + kCorpus + "vector_add.fatbin'";
  const auto check = [&](const std::string& arguments, int code, const std::string& message) {
    const Output output = Run(scratch, arguments);
    INFO(arguments << "\n" << output.err);
    CHECK(output.code == code);
    CHECK_THAT(output.err, Contains(message));
    CHECK(output.out.empty());
  };
  check("frobnicate", 2, "no verb 'frobnicate'");
  check("run", 2, "which FILE?");
  check("run " + file + " --blck 3", 2, "unknown option '--blck'");
  check("run " + file + " --grid 1,2,3,4", 2, "--grid takes X[,Y,Z]");
  check("run " + file + " --arg f33:1", 2, "f33");
  check("compile " + file + " -o /nonexistent/k.o --width 7", 2, "--width takes 1, 4, 8, 16, 32 or 64");
  check("run " + file + " --kernel vector_add --arg u32:1", 2, "takes 4 arguments, got 1");
  check("run " + file + " --kernel vector_add --arg out:f32:1 --arg out:f32:1 --arg out:f32:1 --arg u64:1", 2,
        "is 8 bytes, parameter");
  check("run " + file + " --kernel vector_sub", 8, "vector_sub");
  check("run /nonexistent/file", 3, "/nonexistent/file");
  const std::string good = " --kernel vector_add --arg out:f32:1 --arg out:f32:1 --arg out:f32:1 --arg u32:1";
  check("run " + file + good + " --block 1025", 9, "at most 1024 threads");
  check("run " + file + good + " --grid 0", 9, "grid 0x1x1");
  check("run " + file + good + " --shared 400000", 9, "shared memory");
  check("run " + file + good + " --collapse=sideways", 2, "--collapse");
  check("ir " + file + " --kernel vector_add --stop-after nowhere", 2, "no pass is named 'nowhere'");
}

TEST_CASE("errors for files without PTX name their content and what to do") {
  Scratch scratch;
  const Output output = Run(scratch, "run '" + kCorpus + "vector_add.cubin_only.fatbin' --kernel vector_add");
  INFO(output.err);
  CHECK(output.code == 5);
  CHECK_THAT(output.err, Contains("only machine code for sm_") && Contains("no PTX") && Contains("-gencode"));
  CHECK(Run(scratch, "extract '" + kCorpus + "vector_add.cubin_only.fatbin'").code == 0);
}

TEST_CASE("damaged containers end with one message and nothing written") {
  Scratch scratch;
  const std::string whole = Slurp(kCorpus + "vector_add.fatbin");
  const std::string cut = scratch.Write("cut.fatbin", whole.substr(0, whole.size() / 2));
  const Output output = Run(scratch, "extract " + cut + " -o " + scratch / "dir");
  INFO(output.err);
  CHECK(output.code == 4);
  CHECK_FALSE(fs::exists(scratch / "dir"));
}

TEST_CASE("PTX errors carry file, line, column, the line and a caret, several in one run") {
  Scratch scratch;
  const std::string ptx =
      scratch.Write("bad.ptx", std::string(kHead) +
                                   ".visible .entry k()\n{\n  .reg .b32 %a;\n  ad.s32 %a, %a, 1;\n  add.s32 "
                                   "%a, %b, 1;\n  add.f99 %a, %a, %a;\n  ret;\n}\n");
  Output output = Run(scratch, "parse " + ptx);
  INFO(output.err);
  CHECK(output.code == 6);
  CHECK_THAT(output.err, Contains("bad.ptx:8:15: error: ") && Contains("%b") &&
                             Contains("  add.s32 %a, %b, 1;") && Contains("^"));
  const std::string words = scratch.Write(
      "words.ptx",
      std::string(kHead) +
          ".visible .entry k()\n{\n  .reg .b32 %a;\n  ad.s32 %a, %a, 1;\n  add.f99 %a, %a, %a;\n  ret;\n}\n");
  output = Run(scratch, "parse --check " + words);
  INFO(output.err);
  CHECK(output.code == 6);
  CHECK_THAT(output.err, Contains("words.ptx:7:3: error: ") && Contains("words.ptx:8:") && Contains("add"));
}

TEST_CASE("an unsupported instruction is refused by name and line before anything runs") {
  Scratch scratch;
  const std::string ptx =
      scratch.Write("t.ptx",
                    ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 t)\n{\n  "
                    ".reg .pred %p;\n  .reg .b64 %a;\n"
                    "  mov.b64 %a, 0;\n  mov.b64 %a, 0;\n"
                    "  istypep.samplerref %p, %a;\n  ret;\n}\n");
  const Output output = Run(scratch, "run " + ptx + " --arg u64:0");
  INFO(output.err);
  CHECK(output.code == 7);
  CHECK_THAT(output.err, Contains("t.ptx:10:") && Contains("istypep"));
}

TEST_CASE("a kernel that faults ends with block, line and code 10") {
  Scratch scratch;
  const std::string trap =
      scratch.Write("trap.ptx", std::string(kHead) +
                                    ".visible .entry k()\n{\n  .reg .pred %p;\n  .reg .b32 %i;\n  mov.u32 "
                                    "%i, %tid.x;\n  setp.eq.u32 %p, %i, 5;\n  @%p trap;\n  ret;\n}\n");
  for (const char* engine : {"", " --interpret"}) {
    const Output output = Run(scratch, "run " + trap + " --block 8" + engine);
    INFO(output.err);
    CHECK(output.code == 10);
    CHECK_THAT(output.err, Contains("trap.ptx:10") && Contains("(5,0,0)") && Contains("@%p trap;"));
  }
  const std::string wild =
      scratch.Write("wild.ptx", std::string(kHead) +
                                    ".visible .entry k(.param .u64 p)\n{\n  .reg .b64 %p;\n  .reg .b32 %i;\n "
                                    " ld.param.u64 %p, [p];\n  mov.u32 %i, %tid.x;\n"
                                    "  mad.wide.u32 %p, %i, 4, %p;\n  st.global.u32 [%p], %i;\n  ret;\n}\n");
  const Output output = Run(scratch, "run " + wild + " --arg u64:64 --block 4");
  INFO(output.err);
  CHECK(output.code == 10);
  CHECK_THAT(output.err, Contains("wild.ptx:11") && Contains("bad address 0x40"));
  // Past the end of a buffer.
  for (const char* engine : {"", " --interpret"}) {
    const Output past = Run(scratch, "run '" + kCorpus +
                                         "saxpy.fatbin' -k saxpy --grid 4 --block 1000 --arg f32:2 --arg "
                                         "'in:f32:[1]' --arg 'inout:f32:[1]' --arg u32:4000" +
                                         engine);
    INFO(past.err);
    CHECK(past.code == 10);
    CHECK(past.out.empty());
  }
}

TEST_CASE("extract lists, writes and prints JSON") {
  Scratch scratch;
  Output output = Run(scratch, "extract '" + kCorpus + "run_vectors'");
  CHECK(output.code == 0);
  CHECK_THAT(output.out, Contains("zstd") && Contains("sm_90") && Contains("vector_add"));
  output = Run(scratch, "extract '" + kCorpus + "run_vectors' --json");
  CHECK_THAT(output.out, Contains("\"containers\""));
  output = Run(scratch, "extract '" + kCorpus + "run_vectors' -o " + scratch / "ptx");
  CHECK(output.code == 0);
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(scratch / "ptx")) {
    ++files;
    CHECK(Run(scratch, "parse --check '" + entry.path().string() + "'").code == 0);
  }
  CHECK(files >= 2);
}

TEST_CASE("compile writes objects with a header for every target and no partial files") {
  Scratch scratch;
  for (const char* target : {"x86-64-v3", "native", "aarch64-linux-gnu", "riscv64-linux-gnu"}) {
    const Output output = Run(
        scratch, "compile '" + kCorpus + "reduction.fatbin' -o " + scratch / "r.o" + " --target=" + target);
    INFO(target << output.err);
    CHECK(output.code == 0);
    CHECK(Slurp(scratch / "r.o").substr(1, 3) == "ELF");
    CHECK_THAT(Slurp(scratch / "r.h"), Contains("reduce_shuffle_launch"));
    fs::remove(scratch / "r.o");
  }
  for (const char* kind : {"s", "ll", "so"})
    CHECK(
        Run(scratch, "compile '" + kCorpus + "vector_add.fatbin' -o " + scratch / (std::string("v.") + kind))
            .code == 0);
  CHECK_THAT(Slurp(scratch / "v.ll"), Contains("define"));
  CHECK(Run(scratch, "compile '" + kCorpus + "vector_add.fatbin' -o " + scratch / "v.exe").code == 2);
  CHECK(Run(scratch, "compile '" + kCorpus + "vector_add.fatbin' -o /nonexistent/folder/v.o").code == 3);
  CHECK(
      Run(scratch, "compile '" + kCorpus + "vector_add.fatbin' --target=pdp11 -o " + scratch / "p.o").code ==
      2);
  CHECK_FALSE(fs::exists(scratch / "p.o"));
  CHECK_FALSE(fs::exists(scratch / "p.h"));
}

TEST_CASE("explain shows where the lanes of a warp may part, and why they run one by one") {
  Scratch scratch;
  scratch.Write("arms.ptx", std::string(kHead) +
                                ".visible .entry k(.param .u64 a) {\n"
                                "  .reg .pred %p; .reg .b32 %v, %t; .reg .b64 %a;\n"
                                "  ld.param.u64 %a, [a];\n"
                                "  mov.u32 %t, %tid.x;\n"
                                "  mad.wide.u32 %a, %t, 4, %a;\n"
                                "  ld.global.u32 %v, [%a];\n"
                                "  setp.ne.u32 %p, %v, 0;\n"
                                "  @%p bra other;\n"
                                "  shfl.sync.bfly.b32 %v, %t, 1, 31, 0xffffffff;\n"
                                "  bra done;\n"
                                "other:\n"
                                "  shfl.sync.bfly.b32 %v, %v, 1, 31, 0xffffffff;\n"
                                "done:\n"
                                "  st.global.u32 [%a], %v;\n"
                                "  ret;\n}\n");
  const std::string explain = "explain " + scratch / "arms.ptx" + " --kernel k";
  CHECK_THAT(Run(scratch, explain).out, Contains("warps run as vectors until") &&
                                            Contains("lanes may part at PTX line") &&
                                            Contains("@%p bra other"));
  CHECK_THAT(Run(scratch, explain + " --exec lanes").out,
             Contains("no vectors of a warp's lanes because of a tier or an order of lanes"));
}

TEST_CASE("ir, cfg and explain show every stage") {
  Scratch scratch;
  const std::string file = " '" + kCorpus + "reduction.fatbin' --kernel reduce_shuffle";
  CHECK_THAT(Run(scratch, "ir" + file + " --stop-after ir").out,
             Contains("phase simt") && Contains("shuffle"));
  CHECK_THAT(Run(scratch, "ir" + file).out,
             Contains("phase collapsed") && Contains("for_lanes") && Contains("for_warps"));
  CHECK_THAT(Run(scratch, "ir" + file + " --dump-after all --time-passes").err, Contains("collapse"));
  CHECK_THAT(Run(scratch, "cfg" + file + " --format dot").out, Contains("digraph") && Contains("cluster"));
  CHECK_THAT(Run(scratch, "cfg" + file + " --at collapse").out, Contains("warp"));
  CHECK_THAT(Run(scratch, "explain" + file).out, Contains("tier T1") && Contains("shfl.sync.down.b32"));
  const Output output = Run(scratch, "explain fma.rn.f32");
  CHECK_THAT(output.out, Contains("row fma_float") && Contains("ffma f32 rn") && Contains("llvm.fma"));
  CHECK(Run(scratch, "explain no.such").code == 8);
  CHECK_THAT(Run(scratch, "run --help").out, Contains("--shared BYTES"));
  CHECK_THAT(Run(scratch, "--help").out, Contains("interpret"));
}

TEST_CASE("exec --print-environment gives words that a shell reads back") {
  Scratch scratch;
  const std::string file = "it's $HOME \"here\" `and` \\there";
  fs::create_directory(scratch.path() / "dir");
  const std::string script =
      scratch.Write("script", "cd '" + scratch / "dir" + "' && " + kTool +
                                  " exec --print-environment --timeline \"$1\" > ../words && "
                                  ". ../words && printf '%s' \"$PTX2CPU_TIMELINE\" > ../read\n");
  scratch.Write("name", file);
  REQUIRE(std::system(("sh '" + script + "' \"$(cat '" + scratch / "name" + "')\"").c_str()) == 0);
  CHECK(Slurp(scratch.path() / "read") == scratch / "dir" + "/" + file);
}

TEST_CASE("run --atomics=ordered: the same bits for any number of workers and in every run") {
  Scratch scratch;
  // Blocks of different lengths; each of 32 threads adds a number of another magnitude to one sum, and takes
  // the next place of a list.
  const std::string file = scratch.Write("sum.ptx", std::string(kHead) + R"(
.visible .entry sum(.param .u64 total, .param .u64 count, .param .u64 list)
{
  .reg .pred %p; .reg .b32 %r<12>; .reg .f32 %f; .reg .b64 %total, %count, %list, %at;
  ld.param.u64 %total, [total];
  ld.param.u64 %count, [count];
  ld.param.u64 %list, [list];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r3, %r1, 32, %r2;
  and.b32 %r4, %r1, 255;
LOOP:
  mad.lo.u32 %r3, %r3, 1664525, 1013904223;
  sub.u32 %r4, %r4, 1;
  setp.gt.s32 %p, %r4, 0;
  @%p bra LOOP;
  and.b32 %r5, %r3, 0x0fffffff;
  or.b32 %r5, %r5, 0x38000000;
  mov.b32 %f, %r5;
  red.global.add.f32 [%total], %f;
  setp.ne.u32 %p, %r2, 0;
  @%p bra DONE;
  atom.global.add.u32 %r6, [%count], 1;
  mad.wide.u32 %at, %r6, 4, %list;
  st.global.u32 [%at], %r1;
DONE:
  ret;
}
)");
  // The numbers in the order of the blocks and in the opposite one: their sums are rounded differently.
  std::vector<float> numbers;
  for (uint32_t i = 0; i < 4000 * 32; ++i) {
    uint32_t word = i;
    for (uint32_t n = 0; n < std::max(1u, i / 32 % 256); ++n) word = word * 1664525 + 1013904223;
    numbers.push_back(std::bit_cast<float>((word & 0x0fffffff) | 0x38000000));
  }
  REQUIRE(std::accumulate(numbers.begin(), numbers.end(), 0.0f) !=
          std::accumulate(numbers.rbegin(), numbers.rend(), 0.0f));
  const auto run = [&](const std::string& options) {
    const Output output = Run(scratch, "run '" + file + "' --grid 4000 --block 32 --bits " + options +
                                           " --arg 'inout:f32:[0]' --arg 'inout:u32:[0]' --arg out:u32:4000");
    INFO(output.err);
    CHECK(output.code == 0);
    return output.out;
  };
  const std::string one = run("--threads 1 --atomics=ordered");
  CHECK_THAT(one, Contains("\"values\": [\"0x00000fa0\"]"));
  CHECK_THAT(one,
             Contains("[\"0x00000000\", \"0x00000001\", \"0x00000002\", "));  // in the order of the blocks
  for (const char* threads : {"2", "3", "16"}) {
    for (int again = 0; again < 3; ++again)
      CHECK(run(std::string("--atomics=ordered --threads ") + threads) == one);
  }
  CHECK(Run(scratch, "run '" + file + "' --atomics=sorted").code == 2);
}

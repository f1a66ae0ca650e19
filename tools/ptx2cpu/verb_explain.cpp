// explain: what becomes of one instruction (row -> IR -> LLVM -> assembly), or which tier a kernel gets and
// why.
#include <fmt/format.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "analysis/lanes/swapped_axes.h"
#include "analysis/memory/lock_step.h"
#include "analysis/view/cfg_view.h"
#include "ir/text/text.h"
#include "lowering/llvm/output/jit.h"
#include "tools/ptx2cpu/stage_options.h"
#include "tools/vectors/kernel_text.h"

namespace ptx2cpu::tool {

namespace {

void Heading(std::string_view text) {
  if (ColoursWanted())
    fmt::print("\n\033[1m{}\033[0m\n", text);
  else
    fmt::print("\n{}\n", text);
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream{std::string(text)};
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

// The form that an opcode such as "fma.rn.ftz.f32" is, as a choice of words per element.
struct Chosen {
  const ptx::Row* row = nullptr;
  const ptx::Form* form = nullptr;
  vectors::Choice choice;
};

std::optional<vectors::Choice> ChoiceOf(const ptx::Form& form, std::vector<std::string> words) {
  vectors::Choice choice;
  for (const ptx::Element& element : form.elements) {
    const auto found = std::find_if(words.begin(), words.end(), [&](const std::string& word) {
      return std::find(element.words.begin(), element.words.end(), word) != element.words.end();
    });
    choice.push_back(found == words.end() ? "" : *found);
    if (found != words.end())
      words.erase(found);
    else if (!element.optional)
      return std::nullopt;
  }
  if (!words.empty()) return std::nullopt;
  return choice;
}

Result<Chosen> FindForm(const std::string& text) {
  const std::string opcode = text.substr(0, text.find_first_of(" \t;"));
  for (const ptx::Row& row : ptx::Rows()) {
    if (row.name != opcode || row.forms.empty()) continue;
    const auto choices = vectors::ChoosePairwise(row.forms[0], {});
    if (!choices.empty()) return Chosen{&row, &row.forms[0], choices[0]};
  }
  std::vector<std::string> words = Split(opcode, '.');
  if (words.empty()) return Fail(ErrorCode::kUsage, "which instruction?");
  const std::string base = words[0];
  for (const ptx::Form* form : ptx::FormsOf(base)) {
    if (!ptx::AllHold(form->when, ptx::Dialect::Newest())) continue;  // only old versions have it
    // Base mnemonics may hold dots (cp.async): the form decides how many words it takes.
    const size_t taken = Split(form->base, '.').size();
    std::vector<std::string> rest(words.begin() + static_cast<ptrdiff_t>(std::min(taken, words.size())),
                                  words.end());
    if (auto choice = ChoiceOf(*form, rest)) return Chosen{&ptx::Info(form->row), form, *choice};
  }
  Error error{ErrorCode::kNotFound, fmt::format("no row of the instruction table is '{}'", opcode)};
  for (const ptx::Form* form : ptx::FormsOf(base))
    error.hint += fmt::format("{}{}", error.hint.empty() ? "forms: " : "\n         ", form->text);
  if (error.hint.empty())
    error.hint = fmt::format("the nearest mnemonic is '{}'; `ptx2cpu explain --list` names all rows",
                             ptx::NearestMnemonic(base));
  return Fail(std::move(error));
}

// Lines of LLVM IR whose debug location is the PTX line.
std::string LlvmOfLine(const std::string& text, uint32_t line) {
  std::set<std::string> locations;
  std::smatch match;
  const std::regex location(fmt::format("^(![0-9]+) = (distinct )?!DILocation\\(line: {},", line)),
      use("!dbg (![0-9]+)");
  const std::vector<std::string> lines = Split(text, '\n');
  for (const std::string& each : lines) {
    if (std::regex_search(each, match, location)) locations.insert(match[1]);
  }
  std::string out;
  for (const std::string& each : lines) {
    if (std::regex_search(each, match, use) && locations.contains(match[1]))
      out += each.substr(0, each.find(", !dbg")) + "\n";
  }
  return out;
}

// Instructions between `.loc` marks of the PTX line.
std::string AssemblyOfLine(const std::string& text, uint32_t line) {
  const std::regex location("^\\s*\\.loc\\s+[0-9]+\\s+([0-9]+)"), noise("^\\s*(\\.|#|\\.L)|^\\.L");
  std::string out;
  bool inside = false;
  std::smatch match;
  for (const std::string& each : Split(text, '\n')) {
    if (std::regex_search(each, match, location))
      inside = match[1] == std::to_string(line);
    else if (inside && !std::regex_search(each, noise) && each.find(':') == std::string::npos &&
             !each.empty())
      out += each.substr(0, each.find('#')) + "\n";
  }
  return out;
}

Result<std::unique_ptr<lowering::Jit>> MakeJit(const Arguments& arguments) {
  lowering::JitOptions options;
  options.target = TRY(lowering::ResolveTarget(arguments.Value("--target").value_or("native")));
  options.lane_width = TRY(ReadLaneWidth(arguments));
  options.thread_ids = lowering::ThreadIds::kOneDimensional;
  return lowering::Jit::Create(std::move(options));
}

Status ExplainInstruction(const Arguments& arguments, const std::string& instruction) {
  const Chosen chosen = TRY(FindForm(instruction));
  fmt::print("row {} (PTX ISA {}), translated by {} in ptx-parser/translate/{}.cpp\n  {}\n", chosen.row->name,
             chosen.row->section, chosen.row->name, chosen.row->family, chosen.form->text);
  if (!chosen.row->translated)
    return Fail(
        ErrorCode::kUnsupported,
        fmt::format("row {} is parsed and checked, but not translated by this version", chosen.row->name));
  const auto kernel = vectors::MakeKernel(*chosen.row, *chosen.form, chosen.choice, 0);
  if (!kernel) {
    Error error{
        ErrorCode::kUnsupported,
        fmt::format("{} touches memory, control flow or other lanes: explain shows value instructions",
                    chosen.row->name)};
    error.hint = "draw a kernel that uses it: ptx2cpu cfg, ptx2cpu ir; or see its vector file in tests/ptx";
    return Fail(std::move(error));
  }
  const std::string text = fmt::format(".version 9.0\n.target sm_100a\n.address_size 64\n{}", kernel->ptx);
  const std::vector<std::string> lines = Split(text, '\n');
  std::string opcode = chosen.form->base;
  for (const std::string& word : chosen.choice) opcode += word.empty() ? "" : "." + word;
  uint32_t line = 0;
  for (uint32_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with("  " + opcode + " ")) line = i + 1;
  }
  Heading("PTX");
  fmt::print("{}\n", lines.at(line - 1));
  const lowering::PtxModule ptx = TRY(lowering::PtxModule::Parse(text, "<instruction>"));
  const ir::Module module = TRY(ptx.Build(kernel->name));
  Heading("IR");
  for (const ir::Block& block : module.functions[0].blocks) {
    for (const ir::InstId id : block.insts) {
      const ir::Inst& inst = module.functions[0].at_inst(id);
      if (inst.at.ptx_line == line) fmt::print("  {}\n", ir::Print(module.functions[0], inst));
    }
  }
  const auto jit = TRY(MakeJit(arguments));
  Heading("LLVM IR, optimised");
  fmt::print("{}",
             LlvmOfLine(TRY(jit->Explain(module, kernel->name, lowering::Jit::Stage::kOptimized)), line));
  Heading("assembly");
  fmt::print("{}",
             AssemblyOfLine(TRY(jit->Explain(module, kernel->name, lowering::Jit::Stage::kAssembly)), line));
  return {};
}

std::string_view TierName(const ir::Function& f) {
  if (f.resumes == ir::Resumes::kLanes)
    return "T3 (lanes: each lane suspends at collectives and barriers, a scheduler resumes it)";
  if (f.resumes == ir::Resumes::kWarps)
    return "T2 (resumable: warps suspend at block barriers, a scheduler resumes them)";
  if (f.resumes == ir::Resumes::kBlocks) {
    return f.is_flat
               ? "T0 (flat: one loop over the threads of a block), and the block suspends where threads wait"
               : "T1 (warp: a loop over warps around loops over lanes), and the block suspends where threads "
                 "wait";
  }
  return f.is_flat ? "T0 (flat: one loop over the threads of a block)"
                   : "T1 (warp: a loop over warps around loops over lanes)";
}

std::string_view NeedOf(ir::Resumes needs) {
  if (needs == ir::Resumes::kBlocks) return "the block suspends";
  return needs == ir::Resumes::kLanes ? "T3" : "T2";
}

// Whether the warps of a kernel that resumes lanes begin as vectors.
void ExplainPartings(const lowering::PtxModule::Partings& partings, bool runs, const ir::Module& simt) {
  const auto line = [&](ir::Position at) {
    return at.ptx_line == 0 ? std::string()
                            : fmt::format(" at PTX line {}: {}", at.ptx_line, simt.Line(at.ptx_line));
  };
  if (partings.obstacle) {
    const lowering::TierReason& why = *partings.obstacle;
    return fmt::print("  no vectors of a warp's lanes because of {}{}\n", why.what, line(why.at));
  }
  if (!runs) return fmt::print("  no vectors of a warp's lanes: lanes may wait in arms of branches\n");
  fmt::print("  warps run as vectors until their lanes part at a branch\n");
  for (const ir::Position at : partings.branches) fmt::print("  lanes may part{}\n", line(at));
}

void ExplainLockStep(const ir::Module& simt, std::optional<analysis::LaunchShape> launch) {
  const ir::Function& f = simt.functions[0];
  for (const analysis::LockStepPair& pair : analysis::FindLockStepPairs(f, launch)) {
    const uint32_t first = f.at_inst(pair.first).at.ptx_line, second = f.at_inst(pair.second).at.ptx_line;
    fmt::print("  lanes of a warp wait for each other after PTX line {}: {}\n", first, simt.Line(first));
    fmt::print("    since other lanes access the same bytes at line {}: {}\n", second, simt.Line(second));
  }
}

Status ExplainKernel(const Arguments& arguments) {
  const KernelChoice choice = TRY(ChooseKernel(arguments));
  lowering::BuildOptions options = TRY(ReadBuildOptions(arguments, choice.source));
  const lowering::PtxModule ptx = TRY(choice.source.Open());
  options.pipeline.stop_after = "ir";
  const ir::Module simt = TRY(ptx.Build(choice.kernel, options));
  options.pipeline.stop_after = "remove-redundant-barriers";
  const ir::Module ordered = TRY(ptx.Build(choice.kernel, options));
  options.pipeline.stop_after.clear();
  const ir::Module collapsed = TRY(ptx.Build(choice.kernel, options));
  const ir::Function& f = collapsed.functions[0];
  fmt::print("kernel {} runs in tier {}\n", choice.kernel, TierName(f));
  const lowering::TierChoice tier = TRY(ptx.ChooseTier(choice.kernel, options));
  for (const lowering::TierReason& reason : tier.reasons) {
    fmt::print("  {} because of {}", NeedOf(reason.needs), reason.what);
    if (reason.at.ptx_line != 0)
      fmt::print(" at PTX line {}: {}", reason.at.ptx_line, simt.Line(reason.at.ptx_line));
    fmt::print("\n");
  }
  std::set<uint32_t> collectives, barriers;  // PTX lines
  for (const ir::Function& function : simt.functions) {
    for (const ir::Inst& inst : function.insts) {
      if (!inst.block.valid()) continue;
      if (ir::IsCollective(inst.op)) collectives.insert(inst.at.ptx_line);
      if (ir::IsBarrier(inst.op) && !ir::IsClusterBarrier(inst.op)) barriers.insert(inst.at.ptx_line);
    }
  }
  const auto list = [&](std::string_view what, const std::set<uint32_t>& lines) {
    if (lines.empty()) return fmt::print("  no {}\n", what);
    for (const uint32_t line : lines) fmt::print("  {} at PTX line {}: {}\n", what, line, simt.Line(line));
  };
  list("warp operation", collectives);
  list("block barrier", barriers);
  for (const ir::Inst& inst : ordered.functions[0].insts) {
    if (inst.block.valid() && ir::IsBarrier(inst.op)) barriers.erase(inst.at.ptx_line);
  }
  for (const uint32_t line : barriers)
    fmt::print("  no thread can observe the barrier at PTX line {}: removed\n", line);
  ExplainLockStep(simt, options.pipeline.passes.launch);
  if (f.resumes == ir::Resumes::kLanes)
    ExplainPartings(TRY(ptx.FindPartings(choice.kernel, options)), ir::RunsTogether(f), simt);
  fmt::print("  early exits before a barrier: {}\n", f.has_early_exit ? "yes, live masks are kept" : "none");
  size_t slots[3] = {}, slot_bytes[3] = {};  // per lane, warp, block
  for (const ir::Slot& slot : f.slots) {
    ++slots[static_cast<size_t>(slot.shape)];
    slot_bytes[static_cast<size_t>(slot.shape)] += static_cast<size_t>(ir::Bytes(slot.type));
  }
  fmt::print("  values that cross regions: {} per lane ({} bytes), {} per warp ({}), {} per block ({})\n",
             slots[0], slot_bytes[0], slots[1], slot_bytes[1], slots[2], slot_bytes[2]);
  for (const std::string& note :
       analysis::MakeCfgView(collapsed, f, {.body = analysis::CfgViewOptions::Body::kNone}).notes)
    fmt::print("  {}\n", note);
  if (analysis::WalksAlongColumns(f))
    fmt::print("  threads walk memory along y: vectors hold neighbours along y, blocks follow along y\n");
  const auto jit = TRY(MakeJit(arguments));
  fmt::print("{}", lowering::Render(TRY(jit->ReportLanes(collapsed, f.name)), collapsed));
  return {};
}

}  // namespace

Status RunExplain(const Arguments& arguments) {
  if (arguments.Has("--list")) {
    for (const ptx::Row& row : ptx::Rows())
      fmt::print("{:<24} {:<10} {} {}\n", row.name, row.section, row.translated ? " " : "-", row.syntax);
    return {};
  }
  if (arguments.Has("--kernel")) return ExplainKernel(arguments);
  std::string instruction;
  for (const std::string& word : arguments.plain()) instruction += (instruction.empty() ? "" : " ") + word;
  return ExplainInstruction(arguments, instruction);
}

}  // namespace ptx2cpu::tool

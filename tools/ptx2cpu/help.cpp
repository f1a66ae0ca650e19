// What the program prints about itself, from the table of verbs.
#include <fmt/format.h>

#include <algorithm>

#include "tools/ptx2cpu/command_line.h"

namespace ptx2cpu::tool {

namespace {

constexpr std::string_view kExitCodes[][2] = {
    {"0", "success"},
    {"1", "replay and compare: memory differs"},
    {"2", "wrong command line, argument count or size"},
    {"3", "a file cannot be read or written"},
    {"4", "truncated or corrupt container"},
    {"5", "no PTX in the file: only machine code or LTO IR"},
    {"6", "PTX syntax error, unknown instruction, wrong operands, undefined names"},
    {"7", "legal PTX that this version does not translate"},
    {"8", "no such kernel or symbol"},
    {"9", "launch shape or resources beyond limits"},
    {"10", "the kernel faulted"},
    {"70", "an internal error: please report it"},
};

std::string OptionLabel(const Option& option) {
  std::string label(option.LongName());
  if (!option.ShortName().empty()) label = fmt::format("{}, {}", option.ShortName(), label);
  if (!option.value.empty()) label += fmt::format(" {}", option.value);
  return label;
}

// Breaks text into lines of at most `width` columns, indented.
std::string Wrap(std::string_view text, size_t indent, size_t width = 98) {
  std::string out, line;
  const auto flush = [&] {
    if (!line.empty()) out += std::string(indent, ' ') + line + "\n";
    line.clear();
  };
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (!line.empty() && indent + line.size() + 1 + word.size() > width) flush();
    if (!word.empty()) line += (line.empty() ? "" : " ") + std::string(word);
    if (end < text.size() && text[end] == '\n') {
      flush();
      if (end + 1 < text.size() && text[end + 1] == '\n') out += "\n";
    }
    begin = end + 1;
  }
  flush();
  return out;
}

std::string Roff(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '-' || c == '\\') out += '\\';
    if ((i == 0 || text[i - 1] == '\n') && (c == '.' || c == '\'')) out += "\\&";
    out += c;
  }
  return out;
}

}  // namespace

std::string RenderHelp() {
  std::string out =
      "ptx2cpu: runs CUDA kernels on CPUs by translating their PTX\n\nusage: ptx2cpu VERB ...\n\n";
  for (const Verb& verb : Verbs()) out += fmt::format("  {:<10} {}\n", verb.name, verb.summary);
  out += "\n'ptx2cpu VERB --help' explains a verb, 'man ptx2cpu' all of them.\n";
  return out;
}

std::string RenderHelp(const Verb& verb) {
  std::string out =
      fmt::format("usage: ptx2cpu {} {}\n\n{}", verb.name, verb.usage, Wrap(verb.description, 0));
  if (!verb.options.empty()) out += "\noptions:\n";
  for (const Option& option : verb.options)
    out += fmt::format("  {}\n{}", OptionLabel(option), Wrap(option.help, 8));
  return out;
}

std::string RenderManualPage() {
  std::string out =
      ".TH PTX2CPU 1\n.SH NAME\nptx2cpu \\- runs CUDA kernels on CPUs by translating their PTX\n.SH "
      "SYNOPSIS\n";
  for (const Verb& verb : Verbs())
    out += fmt::format(".B ptx2cpu {}\n{}\n.br\n", verb.name, Roff(verb.usage));
  out +=
      ".SH DESCRIPTION\nExtracts the PTX of CUDA binaries, translates it to native vector code and runs it. "
      "No GPU, CUDA toolkit or driver is needed.\n";
  for (const Verb& verb : Verbs()) {
    out += fmt::format(".SH {}\n{}\n", verb.name, Roff(verb.description));
    for (const Option& option : verb.options)
      out += fmt::format(".TP\n.B {}\n{}\n", Roff(OptionLabel(option)), Roff(option.help));
  }
  out += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : kExitCodes) out += fmt::format(".TP\n.B {}\n{}\n", code, Roff(meaning));
  out +=
      ".SH ENVIRONMENT\n.TP\n.B PTX2CPU_THREADS\nworker threads; default: the number of processors\n.TP\n.B "
      "NO_COLOR\nno colours, even on a terminal\n";
  return out;
}

std::string RenderBashCompletion() {
  std::string verbs;
  std::string cases;
  for (const Verb& verb : Verbs()) {
    verbs += fmt::format("{} ", verb.name);
    std::string words;
    for (const Option& option : verb.options) words += fmt::format("{} ", option.LongName());
    cases += fmt::format("    {}) words=\"{}--help\" ;;\n", verb.name, words);
  }
  return fmt::format(R"(# bash completion for ptx2cpu, generated from its option tables
_ptx2cpu() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} words=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{}--help --version" -- "$current"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{}  esac
  if [[ $current == -* ]]; then COMPREPLY=($(compgen -W "$words" -- "$current")); else COMPREPLY=($(compgen -f -- "$current")); fi
}}
complete -o filenames -F _ptx2cpu ptx2cpu
)",
                     verbs, cases);
}

}  // namespace ptx2cpu::tool

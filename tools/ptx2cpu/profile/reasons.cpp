// Why a kernel is slow, in sentences: from its form (tier, vectors, accesses, registers) and from what was
// measured (where the samples are, how busy the workers were, how long a launch takes).
#include <fmt/format.h>

#include <algorithm>

#include "tools/ptx2cpu/profile/report.h"

namespace ptx2cpu::tool::profile {

namespace {

constexpr double kShortLaunch = 0.02;  // milliseconds: of it, starting workers is a large part
constexpr double kMuch = 0.1;          // of the samples

struct Sentence {
  double weight;  // about the part of the time that it explains
  std::string text;
};

class Reasons {
 public:
  Reasons(const KernelReport& kernel, const Report& report) : k_(kernel), report_(report) {}

  std::vector<std::string> Take() {
    Tier();
    Loops();
    Accesses();
    Outside();
    Spills();
    Grid();
    Launches();
    Work();
    Limit();
    std::ranges::sort(sentences_, std::greater(), &Sentence::weight);
    std::vector<std::string> texts;
    for (Sentence& sentence : sentences_) texts.push_back(std::move(sentence.text));
    return texts;
  }

 private:
  template <typename... Args>
  void Say(double weight, fmt::format_string<Args...> format, Args&&... args) {
    sentences_.push_back({weight, fmt::format(format, std::forward<Args>(args)...)});
  }
  // The share of the samples in the code itself, without calls and waits.
  double SamplesIn(uint32_t first, uint32_t last) const {
    uint64_t samples = 0;
    const auto& lines = k_.samples_by_line;
    for (auto at = lines.lower_bound(first); at != lines.end() && at->first <= last; ++at)
      samples += at->second;
    return k_.samples == k_.outside
               ? 0
               : static_cast<double>(samples) / static_cast<double>(k_.samples - k_.outside);
  }
  static std::string Percent(double part) { return fmt::format("{:.0f} %", 100 * part); }

  void Tier() {
    if (k_.tier != "T2" && k_.tier != "T3") return;
    const std::string why = k_.tier_reasons.empty() ? "" : ": " + k_.tier_reasons.front();
    if (k_.tier == "T3")
      Say(1, "Lanes run one by one, without vectors, and a scheduler resumes them (tier T3){}.", why);
    else
      Say(0.5, "Warps suspend at barriers and a scheduler resumes them (tier T2){}.", why);
  }

  void Loops() {
    for (const auto& loop : k_.lanes.loops) {
      const double part = SamplesIn(loop.first_line, loop.last_line);
      if (loop.width != 1 || part < kMuch) continue;
      Say(part, "Threads at PTX lines {} to {} run one by one, with {} of the samples in the code: {}{}.",
          loop.first_line, loop.last_line, Percent(part), loop.why,
          loop.why_line == 0 ? "" : fmt::format(" (PTX line {})", loop.why_line));
    }
  }

  void Accesses() {
    for (const auto& loop : k_.lanes.loops) {
      const double part = SamplesIn(loop.first_line, loop.last_line);
      if (loop.width == 1 || part < kMuch) continue;
      const auto& l = loop.loads;
      const auto& s = loop.stores;
      const auto all = [](const auto& c) {
        return c.consecutive + c.tested + c.strided + c.uniform + c.gathers + c.one_by_one;
      };
      const uint32_t accesses = all(l) + all(s), gathers = l.gathers + s.gathers,
                     single = l.one_by_one + s.one_by_one + loop.others_one_by_one;
      const auto weight = [&](uint32_t count) {
        return part * std::min(1.0, 1.0 * count / std::max(1u, accesses));
      };
      if (gathers != 0)
        Say(weight(gathers),
            "Gathers and scatters, in which each thread has its own address, are {} of the {} accesses at "
            "PTX "
            "lines {} to {}, which have {} of the samples in the code.",
            gathers, accesses, loop.first_line, loop.last_line, Percent(part));
      if (single != 0)
        Say(weight(single),
            "{} operations (accesses, atomics, calls) at PTX lines {} to {} run thread by thread; these "
            "lines "
            "have {} of the samples in the code.",
            single, loop.first_line, loop.last_line, Percent(part));
    }
  }

  void Outside() {
    const double part =
        k_.samples == 0 ? 0 : static_cast<double>(k_.outside) / static_cast<double>(k_.samples);
    const bool waits = std::ranges::any_of(k_.codes, [](const CodeForm& form) { return form.was_quick; });
    if (part >= kMuch)
      Say(part,
          "{} of the samples are outside the code, in what it calls: the scheduler, approximate functions, "
          "textures, atomics, the library of C{}.",
          Percent(part), waits ? "; or a launch waited for better code than that made quickly" : "");
  }

  void Spills() {
    uint64_t spills = 0;
    for (const CodeForm& form : k_.codes) spills = std::max(spills, form.spills);
    if (spills >= 16)
      Say(0.1,
          "The code stores vector registers to the stack in {} places: more values are live than registers "
          "hold.",
          spills);
  }

  void Grid() {
    const double blocks = static_cast<double>(k_.blocks) / static_cast<double>(k_.launches);
    const unsigned workers = std::max(report_.roofline.workers, 1u);
    if (blocks < workers)
      Say(1 - blocks / workers,
          "A launch has {} blocks on average, fewer than the {} workers: a block runs on one worker.",
          Digits(blocks), workers);
    const double used = k_.milliseconds == 0 ? 1 : k_.busy / k_.milliseconds / workers;
    if (blocks >= workers && used < 0.7 && k_.milliseconds / static_cast<double>(k_.launches) > kShortLaunch)
      Say(1 - used,
          "The workers are busy for {} of the launches' time: blocks differ in length, or the processors "
          "have other work.",
          Percent(used));
  }

  void Launches() {
    const double one = k_.milliseconds / static_cast<double>(k_.launches);
    if (k_.launches >= 100 && one < kShortLaunch)
      Say(0.4, "A launch takes {} microseconds on average: what surrounds the blocks is a large part of it.",
          Digits(one * 1e3));
    if (k_.counted > 0.05 * k_.milliseconds)
      Say(0.3,
          "{} of the time is counting, which a program without a profile does not have: {} launches are too "
          "few to spread it.",
          Percent(k_.counted / k_.milliseconds), k_.launches);
  }

  void Work() {
    if (!k_.work) return;
    const auto& work = k_.work->total;
    if (work.special > 0.2 * work.floats() && work.floats() > 0)
      Say(0.2,
          "{} of the operations on floats are divisions, roots, exponentials or sines, which take several "
          "times as long as others.",
          Percent(work.special / work.floats()));
    if (work.local > 0.25 * work.global() && work.local > 0)
      Say(0.2,
          "Threads access {} of local memory: arrays that are indexed by variables, or that registers do not "
          "hold.",
          Scaled(work.local, "B"));
    const double instructions = work.instructions;
    if (work.atomics > 0.02 * instructions)
      Say(0.2, "{} atomics, one in {} instructions.", Scaled(work.atomics, ""),
          Digits(instructions / work.atomics));
  }

  void Limit() {
    if (k_.roofline_part >= 0.7)
      Say(0.05, "It reaches {} of what the machine's {} allows: little is left to gain without doing less.",
          Percent(k_.roofline_part), k_.limited_by_memory ? "memory" : "arithmetic");
  }

  const KernelReport& k_;
  const Report& report_;
  std::vector<Sentence> sentences_;
};

}  // namespace

std::vector<std::string> ReasonsOf(const KernelReport& kernel, const Report& report) {
  return Reasons(kernel, report).Take();
}

}  // namespace ptx2cpu::tool::profile

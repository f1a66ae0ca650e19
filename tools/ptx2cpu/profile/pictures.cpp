// SVG: blocks of code by heat, and tracks of a timeline. Sizes are pixels.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/view/cfg_view.h"
#include "tools/ptx2cpu/profile/report.h"

namespace ptx2cpu::tool::profile {

namespace {

// White to red.
std::string Heat(double part) {
  const double s = std::sqrt(std::clamp(part, 0.0, 1.0));
  return fmt::format("#{:02x}{:02x}{:02x}", static_cast<int>(255 - 25 * s), static_cast<int>(255 - 170 * s),
                     static_cast<int>(255 - 205 * s));
}

constexpr int kBlockWidth = 460, kLineHeight = 13, kGap = 16, kLeft = 90, kMaxBlockLines = 7;
constexpr size_t kMaxBlocks = 120;

// One block of the drawing.
struct Box {
  std::vector<std::string> lines;
  uint64_t samples = 0;
  double entries = -1;
  int top = 0, height = 0;
};

// Blocks below each other in the order of the program; edges that lead further down on the left, back edges
// on the right.
class BlockPicture {
 public:
  BlockPicture(const analysis::CfgView& view, std::vector<Box> boxes)
      : view_(view), boxes_(std::move(boxes)) {}

  std::string Draw() {
    int top = 4;
    uint64_t all = 0;
    for (Box& box : boxes_) {
      box.top = top;
      box.height = kLineHeight * static_cast<int>(1 + box.lines.size()) + 8;
      top += box.height + kGap;
      all += box.samples;
    }
    for (size_t n = 0; n < boxes_.size(); ++n) DrawBox(n, all);
    std::set<std::pair<uint32_t, uint32_t>> drawn;
    for (const auto& edge : view_.edges) {
      if (edge.from < boxes_.size() && edge.to < boxes_.size() && drawn.insert({edge.from, edge.to}).second)
        DrawEdge(edge);
    }
    const int width = kLeft + kBlockWidth + 90;
    return fmt::format(
        "<svg xmlns='http://www.w3.org/2000/svg' class='blocks' width='{0}' height='{1}' viewBox='0 0 {0} "
        "{1}'>\n{2}</svg>\n",
        width, top, out_);
  }

 private:
  void DrawBox(size_t n, uint64_t all) {
    const Box& box = boxes_[n];
    const double part = all == 0 ? 0 : static_cast<double>(box.samples) / static_cast<double>(all);
    out_ += fmt::format("<rect x='{}' y='{}' width='{}' height='{}' rx='3' fill='{}' stroke='#667'/>\n",
                        kLeft, box.top, kBlockWidth, box.height, Heat(part));
    std::string title = view_.nodes[n].title;
    if (box.samples != 0) title += fmt::format("  {:.1f} % of the samples", 100 * part);
    if (box.entries >= 0) title += "  entered " + Scaled(box.entries, "") + " times";
    Text(kLeft + 6, box.top + kLineHeight, title, "b");
    for (size_t line = 0; line < box.lines.size(); ++line)
      Text(kLeft + 6, box.top + kLineHeight * static_cast<int>(line + 2), box.lines[line], "c");
  }
  void DrawEdge(const analysis::CfgView::Edge& edge) {
    const Box &from = boxes_[edge.from], &to = boxes_[edge.to];
    if (edge.to == edge.from + 1) {
      const int x = kLeft + 30;
      out_ += fmt::format("<path d='M{0} {1}L{0} {2}' class='{3}'/>\n", x, from.top + from.height, to.top,
                          edge.divergent ? "e d" : "e");
      return;
    }
    const bool back = to.top <= from.top;
    const int x = back ? kLeft + kBlockWidth : kLeft, side = back ? 1 : -1, y1 = from.top + from.height - 8,
              y2 = to.top + 8;
    const int bend = x + side * std::clamp(12 + std::abs(y2 - y1) / 14, 14, 82);
    out_ += fmt::format("<path d='M{0} {1}C{2} {1} {2} {3} {0} {3}' class='{4}'/>\n", x, y1, bend, y2,
                        edge.divergent ? "e d" : "e");
  }
  void Text(int x, int y, std::string_view text, const char* kind) {
    constexpr size_t kMaxCharacters = 72;
    out_ += fmt::format("<text x='{}' y='{}' class='{}'>{}</text>\n", x, y, kind,
                        Escaped(text.substr(0, kMaxCharacters)));
  }

  const analysis::CfgView& view_;
  std::vector<Box> boxes_;
  std::string out_;
};

Box BoxOf(const ir::Module& module, const ir::Function& f, ir::BlockId block,
          const std::map<uint32_t, uint64_t>& samples) {
  Box box;
  std::set<uint32_t> lines;
  for (const ir::InstId id : f.at_block(block).insts) lines.insert(f.at_inst(id).at.ptx_line);
  lines.erase(0);
  std::vector<std::pair<uint64_t, uint32_t>> by_samples;
  for (const uint32_t line : lines) {
    const auto found = samples.find(line);
    const uint64_t count = found == samples.end() ? 0 : found->second;
    box.samples += count;
    by_samples.emplace_back(count, line);
  }
  // The hottest lines, in the order of the program.
  std::ranges::sort(by_samples, [](const auto& a, const auto& b) { return a.first > b.first; });
  if (by_samples.size() > kMaxBlockLines) by_samples.resize(kMaxBlockLines);
  std::ranges::sort(by_samples, {}, [](const auto& entry) { return entry.second; });
  for (const auto& [count, line] : by_samples) {
    std::string_view text = module.Line(line);
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    std::string shown(text);
    std::ranges::replace(shown, '\t', ' ');
    box.lines.push_back(fmt::format("{:>5} {}", line, shown));
  }
  if (lines.size() > by_samples.size())
    box.lines.push_back(fmt::format("      ... {} more lines", lines.size() - by_samples.size()));
  return box;
}

}  // namespace

std::string DrawBlocks(const ir::Module& module, const std::map<uint32_t, uint64_t>& samples_by_line,
                       const std::vector<double>& entries) {
  const ir::Function& f = module.functions[0];
  const analysis::CfgView view =
      analysis::MakeCfgView(module, f, {.body = analysis::CfgViewOptions::Body::kNone});
  if (view.nodes.size() > kMaxBlocks) return {};
  std::vector<Box> boxes;
  for (const auto& node : view.nodes) {
    Box& box = boxes.emplace_back(BoxOf(module, f, node.block, samples_by_line));
    if (node.block.index < entries.size()) box.entries = entries[node.block.index];
  }
  return BlockPicture(view, std::move(boxes)).Draw();
}

namespace {

constexpr int kTrackHeight = 20, kTrackWidth = 900, kNames = 130;
constexpr size_t kMaxBars = 2000, kBins = 450, kMaxTracks = 40;

struct Track {
  uint32_t group;
  uint64_t number;
  friend auto operator<=>(const Track&, const Track&) = default;
};

std::string NameOf(const Track& track) {
  const auto group = static_cast<Group>(track.group);
  return fmt::format("{} {}",
                     group == Group::kHost      ? "thread"
                     : group == Group::kStreams ? "stream"
                                                : "worker",
                     track.number);
}

// A colour for each name, the same in all tracks.
std::string ColourOf(uint32_t name) { return fmt::format("hsl({},55%,60%)", name * 47 % 360); }

class TimelinePicture {
 public:
  explicit TimelinePicture(const Process& process) : process_(process) {}

  std::string Draw() {
    const auto events = process_.events();
    if (events.empty()) return {};
    begin_ = process_.file().begin;
    end_ = begin_ + 1;
    std::map<Track, std::vector<const EventRow*>> tracks;
    for (const EventRow& event : events) {
      tracks[{event.group, event.track}].push_back(&event);
      end_ = std::max(end_, event.end);
    }
    const bool as_bars = events.size() <= kMaxBars;
    int y = 4;
    for (const auto& [track, bars] : tracks) {
      if (static_cast<size_t>(y / kTrackHeight) >= kMaxTracks) break;
      out_ += fmt::format("<text x='4' y='{}' class='b'>{}</text>\n", y + 14, NameOf(track));
      as_bars ? DrawBars(bars, y) : DrawBins(bars, y);
      y += kTrackHeight;
    }
    for (int tick = 0; tick <= 10; ++tick) {
      const double at = static_cast<double>(end_ - begin_) * tick / 10 * 1e-6;
      out_ += fmt::format("<text x='{}' y='{}' class='c'>{} ms</text>\n",
                          kNames + kTrackWidth * tick / 10 - 8, y + 14, Digits(at));
    }
    return fmt::format(
        "<svg xmlns='http://www.w3.org/2000/svg' class='timeline' width='{0}' height='{1}' viewBox='0 0 {0} "
        "{1}'>\n{2}</svg>\n",
        kNames + kTrackWidth + 60, y + 24, out_);
  }

 private:
  double Place(uint64_t time) const {
    return kNames + kTrackWidth * static_cast<double>(std::max(time, begin_) - begin_) /
                        static_cast<double>(end_ - begin_);
  }
  void DrawBars(const std::vector<const EventRow*>& bars, int y) {
    for (const EventRow* bar : bars) {
      const double x = Place(bar->begin), width = std::max(0.4, Place(bar->end) - x);
      out_ += fmt::format(
          "<rect x='{:.1f}' y='{}' width='{:.1f}' height='{}' fill='{}'><title>{}: {} us</title></rect>\n", x,
          y + 2, width, kTrackHeight - 4, ColourOf(bar->name), Escaped(process_.Text(bar->name)),
          Digits(static_cast<double>(bar->end - bar->begin) * 1e-3));
    }
  }
  // How busy the track was in each part of the time, by the height, and with what the most, by the colour.
  void DrawBins(const std::vector<const EventRow*>& bars, int y) {
    std::vector<std::map<uint32_t, double>> busy(kBins);
    const double width = static_cast<double>(end_ - begin_) / kBins;
    for (const EventRow* bar : bars) {
      const double from = static_cast<double>(std::max(bar->begin, begin_) - begin_) / width,
                   to = static_cast<double>(std::max(bar->end, begin_) - begin_) / width;
      for (auto bin = static_cast<size_t>(from); bin < kBins && static_cast<double>(bin) < to; ++bin)
        busy[bin][bar->name] +=
            std::min(to, static_cast<double>(bin + 1)) - std::max(from, static_cast<double>(bin));
    }
    for (size_t bin = 0; bin < kBins; ++bin) {
      if (busy[bin].empty()) continue;
      double all = 0;
      for (const auto& [name, part] : busy[bin]) all += part;
      const uint32_t most =
          std::ranges::max_element(busy[bin], {}, [](const auto& entry) { return entry.second; })->first;
      const int height = std::max(1, static_cast<int>(std::min(1.0, all) * (kTrackHeight - 4)));
      out_ += fmt::format("<rect x='{}' y='{}' width='{}' height='{}' fill='{}'/>\n",
                          kNames + kTrackWidth / kBins * bin, y + kTrackHeight - 2 - height,
                          kTrackWidth / kBins, height, ColourOf(most));
    }
  }

  const Process& process_;
  uint64_t begin_ = 0, end_ = 0;
  std::string out_;
};

}  // namespace

std::string DrawTimeline(const Process& process) { return TimelinePicture(process).Draw(); }

}  // namespace ptx2cpu::tool::profile

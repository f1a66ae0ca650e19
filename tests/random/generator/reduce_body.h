// Makes lists of statements smaller while something holds.
#pragma once

#include <cstddef>
#include <vector>

namespace ptx2cpu::random_kernels {

// In place of statement `i`, one of its arms. Whether `keeps` accepted it.
template <typename Node, typename Keeps>
bool ReplaceByArm(std::vector<Node>& body, size_t i, const Keeps& keeps) {
  const std::vector<Node> before = body;
  for (const std::vector<Node>& arm : before[i].arms) {
    if (arm.empty()) continue;
    body.erase(body.begin() + static_cast<ptrdiff_t>(i));
    body.insert(body.begin() + static_cast<ptrdiff_t>(i), arm.begin(), arm.end());
    if (keeps()) return true;
    body = before;
  }
  return false;
}

// From the end, so that what comes later goes first; then arms in place of their statements; then inside.
template <typename Node, typename Keeps>
void ShrinkBody(std::vector<Node>& body, const Keeps& keeps) {
  for (size_t i = body.size(); i-- > 0;) {
    const std::vector<Node> before = body;
    body.erase(body.begin() + static_cast<ptrdiff_t>(i));
    if (keeps()) continue;
    body = before;
    if (ReplaceByArm(body, i, keeps)) continue;
    for (std::vector<Node>& arm : body[i].arms) ShrinkBody(arm, keeps);
  }
}

template <typename Node>
size_t CountStatements(const std::vector<Node>& body) {
  size_t count = 0;
  for (const Node& node : body) {
    ++count;
    for (const std::vector<Node>& arm : node.arms) count += CountStatements(arm);
  }
  return count;
}

}  // namespace ptx2cpu::random_kernels

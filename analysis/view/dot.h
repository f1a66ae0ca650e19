// Drawings of a CfgView: Graphviz dot, and plain text for terminals.
#pragma once

#include <string>

#include "analysis/view/cfg_view.h"

namespace ptx2cpu::analysis {

std::string RenderDot(const CfgView& view);
std::string RenderText(const CfgView& view);

}  // namespace ptx2cpu::analysis

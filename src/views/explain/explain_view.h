// An Explanation as text for a terminal or as JSON. Judges nothing; strings of the recording are
// made safe here.
#pragma once

#include <string>

#include "analysis/explanation.h"

namespace culprit::views {

struct ExplainTextOptions {
  bool colour = false;
  bool show_sql = false;
  bool all_chains = false;  // else the first victim's in total, and that of the longest wait
  std::size_t top = 8;      // victims, findings of level info
};

std::string ExplainText(const analysis::Explanation& explanation,
                        const ExplainTextOptions& options);
// What is looked for, thresholds and reasons.
std::string ExplainRulesText();
// docs/explain.schema.json; `file` is the trace as it was named.
std::string ExplainJson(const analysis::Explanation& explanation, const std::string& file);
// One file that needs nothing else: no script, nothing fetched; with pictures of the worst waits.
std::string ExplainHtml(const analysis::Explanation& explanation, const std::string& file);
// For an issue or a chat.
std::string ExplainMarkdown(const analysis::Explanation& explanation, const std::string& file,
                            bool show_sql);

}  // namespace culprit::views

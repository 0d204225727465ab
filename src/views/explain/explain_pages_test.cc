// The HTML and Markdown of culprit explain: hostile names, nothing fetched, the picture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "views/explain/explain_view.h"

namespace culprit::views {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kHostile = "<script>alert(1)</script>|`x`";

analysis::Explanation Made() {
  analysis::Explanation made;
  made.trace = made.window = {0, 1'000'000'000};
  made.examined_ns = 1'000'000'000;
  made.level = analysis::Level::kCritical;
  made.verdict = kHostile;
  const analysis::TaskName task = {1, 10, 10, kHostile, kHostile};
  made.victims.push_back(
      {task, analysis::VictimRole::kMain, kHostile, {{"running", 1'000'000'000}}});
  analysis::ExplainFinding finding;
  finding.id = "cpu.neighbour";
  finding.level = analysis::Level::kCritical;
  finding.victims.push_back({task, {100, 1, 100, 500}, 0.1});
  finding.summary = kHostile;
  finding.remedy.command = "```\nrm";
  finding.sql = "SELECT '</pre><script>'";
  made.findings.push_back(finding);
  made.pictures.push_back(
      {0,
       {400, 700},
       {500, 600},
       {{kHostile, "victim", {{{500, 600}, analysis::SegmentKind::kReady, kHostile, false}}}}});
  return made;
}

TEST(ExplainHtml, NamesAreTextAndNothingIsFetched) {
  const std::string html = ExplainHtml(Made(), kHostile);
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  EXPECT_THAT(html, Not(HasSubstr("href=")));
  EXPECT_THAT(html, Not(HasSubstr("url(")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(1)"));
  EXPECT_THAT(html, HasSubstr("<svg role"));
  EXPECT_THAT(html, HasSubstr("<g class=\"ready\">"));
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
}

TEST(ExplainMarkdown, NamesMakeNoMarkup) {
  const std::string text = ExplainMarkdown(Made(), kHostile, true);
  EXPECT_THAT(text, Not(HasSubstr("\n<script")));
  EXPECT_THAT(text, Not(HasSubstr("**crit** <script")));
  EXPECT_THAT(text, HasSubstr("&lt;script>alert(1)&lt;/script>\\|\\`x\\`"));
  EXPECT_THAT(text, HasSubstr("```sql\nSELECT"));
}

}  // namespace
}  // namespace culprit::views

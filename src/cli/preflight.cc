// culprit preflight: can this machine be recorded, and what is missing for how much.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "capture/preflight.h"
#include "cli/verbs.h"

namespace culprit::cli {
namespace {

struct Options {
  std::string directory = ".";
  std::string size = "1G";
  std::string buffer = "64M";
  bool json = false;
};

int RunPreflight(const Options& options) {
  capture::PreflightOptions wanted;
  wanted.directory = options.directory;
  const auto size = ParseBytes(options.size);
  if (!size) return Fail(size.error(), kExitUsage);
  const auto buffer = ParseBytes(options.buffer);
  if (!buffer) return Fail(buffer.error(), kExitUsage);
  wanted.disk_bytes = *size;
  wanted.ring_bytes = *buffer;
  const auto findings = capture::Preflight(wanted);
  const bool possible = std::ranges::none_of(findings, [](const auto& finding) {
    return finding.readiness == capture::Readiness::kMissing;
  });
  if (options.json) {
    nlohmann::ordered_json json = {{"ready", possible},
                                   {"checks", nlohmann::ordered_json::array()}};
    for (const capture::PreflightFinding& finding : findings) {
      json["checks"].push_back({{"check", finding.check},
                                {"result", capture::ReadinessName(finding.readiness)},
                                {"what", finding.what},
                                {"remedy", finding.remedy}});
    }
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    for (const capture::PreflightFinding& finding : findings) {
      fmt::print("{:<8} {:<18} {}\n", capture::ReadinessName(finding.readiness), finding.check,
                 SafeForTerminal(finding.what));
      if (!finding.remedy.empty()) {
        fmt::print("{:<8} {:<18} -> {}\n", "", "", SafeForTerminal(finding.remedy));
      }
    }
    fmt::print("\n{}\n",
               possible ? "ready to record"
                        : "not ready to record the machine; what this user may record of his own: "
                          "see level");
  }
  return possible ? kExitOk : kExitFailure;
}

}  // namespace

Action DeclarePreflight(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--dir", options->directory, "where the trace file will go (default: .)")
      ->type_name("DIR");
  app.add_option("-s,--size", options->size, "room that it will need (default: 1G)")
      ->type_name("SIZE");
  app.add_option("-b,--buffer", options->buffer, "kernel ring buffers (default: 64M)")
      ->type_name("SIZE");
  app.add_flag("--json", options->json, "the findings as JSON");
  return [options] { return RunPreflight(*options); };
}

}  // namespace culprit::cli

// culprit tune: audits a node's kernel settings, applies what is advised, takes it back.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/verbs.h"
#include "health/tune/report.h"

namespace culprit::cli {
namespace {

using namespace tune;  // NOLINT(google-build-using-namespace): this file is its front

constexpr int kExitAdvice = 1;  // audit: something to change; apply, rollback: something not done
constexpr int kExitNoAudit = 3;

struct TuneOptions {
  std::vector<std::string> words;  // [audit|apply|rollback] [KEY...]
  std::string profile = "training";
  std::string policy;
  std::string disk_bandwidth;
  std::string root;
  bool dry_run = false;
  bool yes = false;
  bool force = false;
  bool json = false;
  bool verbose = false;
};

struct Task {
  std::string action = "audit";
  std::vector<std::string> keys;
};

Task TaskOf(const TuneOptions& options) {
  Task task;
  auto words = options.words;
  if (!words.empty() && (words[0] == "audit" || words[0] == "apply" || words[0] == "rollback")) {
    task.action = words[0];
    words.erase(words.begin());
  }
  for (const std::string& word : words) {
    const auto path = SysctlPath(word);
    // Both spellings of a sysctl are taken; names of ours (thp.enabled) are no paths.
    task.keys.push_back(FindKnob(word) == nullptr && path ? SysctlKey(*path) : word);
  }
  return task;
}

Result<Audit> RunAudit(const RootFiles& files, const TuneOptions& options) {
  NodeFacts node = ReadNodeFacts(files);
  if (!options.disk_bandwidth.empty()) {
    CULPRIT_ASSIGN(const std::uint64_t bytes, ParseBytes(options.disk_bandwidth));
    if (bytes == 0) return Error{"--disk-bandwidth 0", "give bytes a second, such as 3G"};
    node.write_bandwidth = WriteBandwidth{static_cast<double>(bytes), "--disk-bandwidth"};
  }
  if (options.policy.empty()) return AuditBaseline(files, node, *ProfileOf(options.profile));
  // The policy is the user's file, outside of any --root.
  CULPRIT_ASSIGN(const std::string text, ReadFile(options.policy, std::size_t{4} << 20));
  CULPRIT_ASSIGN(const auto policy, ParsePolicy(text, options.policy));
  return AuditPolicy(files, node, policy);
}

// Keeps the items of `keys` only; an Error names the first that there is none of.
Status Select(Audit& audit, const std::vector<std::string>& keys) {
  if (keys.empty()) return {};
  std::vector<std::string> known;
  for (const AuditItem& item : audit.items) known.push_back(item.key);
  for (const std::string& key : keys) {
    if (std::ranges::find(known, key) != known.end()) continue;
    const auto near = NearNames(key, known);
    return Error{
        "tune has no advice on '" + SafeForTerminal(key) + "'",
        near.empty() ? "culprit tune lists its keys" : "did you mean " + near.front() + "?"};
  }
  std::erase_if(audit.items, [&keys](const AuditItem& item) {
    return std::ranges::find(keys, item.key) == keys.end();
  });
  return {};
}

int ShowAudit(const Audit& audit, const TuneOptions& options, const Task& task) {
  if (options.json) {
    fmt::print("{}", AuditJson(audit, options.policy));
  } else {
    const bool detail = options.verbose || !task.keys.empty();
    fmt::print("{}", AuditText(audit, {.every_detail = detail, .policy = options.policy}));
    const bool can_apply = std::ranges::any_of(audit.items, [](const AuditItem& item) {
      return item.status == ItemStatus::kChange && item.place != Place::kLimit;
    });
    if (can_apply) {
      fmt::print("\nnext: culprit tune apply --dry-run\n");
    }
  }
  const bool advice =
      audit.Count(ItemStatus::kChange) > 0 || audit.Count(ItemStatus::kObsolete) > 0;
  return advice ? kExitAdvice : kExitOk;
}

bool Confirmed() {
  fmt::print("write these values? [y/N] ");
  std::fflush(stdout);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

// A step for a key that was asked for by name and is not to be written.
Step NotWritten(const AuditItem& item) {
  Step step{item.key,
            item.files.empty() ? "" : item.files.front().path,
            item.current,
            "",
            StepOutcome::kNothing,
            ""};
  switch (item.status) {
    case ItemStatus::kOk:
      step.reason = "as advised already: " + OriginText(item);
      break;
    case ItemStatus::kChange:  // a limit
      step.outcome = StepOutcome::kRefused;
      step.reason = "a limit of processes is not written by tune: give the jobs' unit " +
                    std::string(item.key == "limits.nofile" ? "LimitNOFILE=1024:524288"
                                                            : "LimitMEMLOCK=infinity") +
                    ", or the group a line in /etc/security/limits.d";
      break;
    default:
      step.outcome = StepOutcome::kRefused;
      step.reason = item.reason.empty() ? "nothing is advised here" : item.reason;
  }
  return step;
}

int ShowChange(const ChangeReport& report, const std::string& action, bool json) {
  fmt::print("{}", json ? ChangeJson(report, action) : ChangeText(report, action));
  return report.ok() ? kExitOk : kExitAdvice;
}

int RunApply(const RootFiles& files, const Audit& audit, const TuneOptions& options,
             const Task& task) {
  std::vector<const AuditItem*> items;
  std::vector<Step> others;
  for (const AuditItem& item : audit.items) {
    if (item.status == ItemStatus::kChange && item.place != Place::kLimit) {
      items.push_back(&item);
    } else if (!task.keys.empty()) {
      others.push_back(NotWritten(item));
    }
  }
  if (!items.empty() && task.keys.empty() && !options.dry_run && !options.yes) {
    if (!IsTerminal(STDIN_FILENO) || !IsTerminal(STDOUT_FILENO)) {
      return Fail({"apply of all that is advised asks first, and there is no terminal to ask on",
                   "see culprit tune apply --dry-run, then give --yes or the keys"},
                  kExitUsage);
    }
    const auto plan = Apply(files, items, {.dry_run = true});
    if (!plan.ok()) return Fail(plan.error());
    fmt::print("{}", ChangeText(*plan, "apply"));
    if (!Confirmed()) return kExitAdvice;
  }
  ChangeReport report;
  report.dry_run = options.dry_run;
  if (!items.empty()) {
    auto applied = Apply(files, items, {.dry_run = options.dry_run});
    if (!applied.ok()) return Fail(applied.error());
    report = std::move(applied).value();
  }
  report.steps.insert(report.steps.end(), others.begin(), others.end());
  return ShowChange(report, "apply", options.json);
}

int Run(const TuneOptions& options) {
  const Task task = TaskOf(options);
  const auto files = RootFiles::Open(options.root);
  if (!files.ok()) return Fail(files.error(), kExitUsage);
  if (task.action == "rollback") {
    const auto report =
        Rollback(*files, {.dry_run = options.dry_run, .force = options.force, .keys = task.keys});
    if (!report.ok()) return Fail(report.error());
    return ShowChange(*report, "rollback", options.json);
  }
  if (!files->Exists("/proc/sys")) {
    return Fail({files->Shown("/proc/sys") + " is not there: nothing can be audited",
                 "give --root the directory that holds proc, sys and etc"},
                kExitNoAudit);
  }
  auto audit = RunAudit(*files, options);
  if (!audit.ok()) return Fail(audit.error(), kExitUsage);
  if (const Status known = Select(*audit, task.keys); !known.ok()) {
    return Fail(known.error(), kExitUsage);
  }
  if (task.action == "apply") return RunApply(*files, *audit, options, task);
  return ShowAudit(*audit, options, task);
}

}  // namespace

Action DeclareTune(CLI::App& app) {
  auto options = std::make_shared<TuneOptions>();
  app.add_option("words", options->words,
                 "audit (the default), apply or rollback, then the keys meant; none: all")
      ->type_name("[ACTION] [KEY...]");
  app.add_option("--profile", options->profile, "what the node does")
      ->check(CLI::IsMember({"training", "inference", "storage"}))
      ->capture_default_str();
  app.add_option("--policy", options->policy,
                 "audit the lines KEY = VALUE, KEY >= VALUE, KEY <= VALUE of a file instead of the "
                 "baseline")
      ->type_name("FILE");
  app.add_option("--disk-bandwidth", options->disk_bandwidth,
                 "bytes a second that the node's storage takes in writes, as fio measured it (3G)")
      ->type_name("BYTES");
  app.add_option("--root", options->root, "a directory that stands for the node's /")
      ->type_name("DIR");
  app.add_flag("--dry-run", options->dry_run, "show what would be written, write nothing");
  app.add_flag("--yes", options->yes, "apply all that is advised without asking");
  app.add_flag("--force", options->force, "roll back also what somebody changed since");
  app.add_flag("--json", options->json, "the report as JSON (docs/tune.md)");
  app.add_flag("-v,--verbose", options->verbose, "why, what breaks and the source for every key");
  return [options] { return Run(*options); };
}

}  // namespace culprit::cli

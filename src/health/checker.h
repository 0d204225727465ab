// Checker: takes two samples of a node, lets every rule read and judge them, and remembers from
// round to round what is new, what has cleared and for how long. Prints nothing.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/finding.h"
#include "base/units.h"
#include "health/config.h"
#include "health/context.h"
#include "health/reader.h"

namespace culprit::health {

struct CheckOptions {
  DurationNs sample = Seconds(1);
  DurationNs deadline = Seconds(10);  // for all of a round
  std::vector<const Rule*> rules;
  CheckConfig config;
  std::string root;       // "" : the live node
  std::string root_next;  // the second sample of a captured tree; "" : there is none
  std::optional<Baseline> baseline;
  bool strict_unknown = false;
};

struct Report {
  NodeFacts node;
  std::int64_t time_s = 0;  // since 1970
  double duration_s = 0;
  double sample_s = 0;          // between the samples; 0: one sample
  bool sample_assumed = false;  // captured trees that do not tell their uptime
  std::size_t cpus = 0;
  // Worst first; one a subject that is not OK, and one a check that is.
  std::vector<Finding> findings;
  FindingStatus verdict = FindingStatus::kOk;
  std::vector<std::string> new_keys;  // "id subject", against the round before
  std::vector<Finding> cleared;
  Baseline seen;  // for --save-baseline
};

class Checker {
 public:
  explicit Checker(CheckOptions options);

  // A round. The first takes two samples; later ones compare with the sample of the round before,
  // `wait` after it.
  Report Run(DurationNs wait);

 private:
  Report Judge(const Moment& before, const Moment& after, bool two, double seconds);

  CheckOptions options_;
  NodeReader reader_;
  NodeFacts node_;
  std::optional<Moment> last_;
  std::map<std::string, TimeNs> first_seen_;  // "id subject" -> when
  std::map<std::string, Finding> problems_;   // of the round before
  std::map<std::string, TimeNs> held_since_;
  bool first_round_ = true;
};

// One finding of a reading, by the thresholds. `age_s`: how long it has been so.
Finding JudgeReading(const Rule& rule, const Thresholds& thresholds, const Reading& reading,
                     double age_s);

// Exit status: "nagios" 0 OK, 1 WARN, 2 CRIT, 3 UNKNOWN; "npd" 0 OK, 1 problem, 2 unknown.
int ExitStatus(FindingStatus verdict, bool npd);

}  // namespace culprit::health

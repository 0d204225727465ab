// The declare functions that the table in verbs.cc names, one a verb.
#pragma once

#include "cli/verb.h"

namespace culprit::cli {

Action DeclareCheck(CLI::App& app);
Action DeclareExplain(CLI::App& app);
Action DeclareQuery(CLI::App& app);
Action DeclareLoad(CLI::App& app);
Action DeclareExport(CLI::App& app);
Action DeclareOpen(CLI::App& app);
Action DeclareTune(CLI::App& app);
Action DeclareFlame(CLI::App& app);
Action DeclareLab(CLI::App& app);
Action DeclareHelp(CLI::App& app);
Action DeclarePreflight(CLI::App& app);
Action DeclareProfile(CLI::App& app);
Action DeclareRecord(CLI::App& app);
Action DeclareStat(CLI::App& app);

}  // namespace culprit::cli

#include "cli/verbs.h"

#include <array>

#include "cli/verb.h"

namespace culprit::cli {
namespace {

constexpr std::array kVerbs = {
    Verb{"check", "[--only LIST] [--watch TIME] [--format FORMAT] [--root DIR]",
         "is this node healthy: what is wrong, with what, and what to do",
         "  culprit check                        # the whole node, in about a second\n"
         "  culprit check --only disk,fs --all   # also what is fine there\n"
         "  culprit check --watch 5s             # again and again, marking what is new and over\n"
         "  culprit check --explain cpu.psi      # what a check reads and what fools it\n",
         DeclareCheck},

    Verb{"open", "[--port PORT] [--ui URL] [--no-browser] TRACE", "show a trace in Perfetto's UI",
         "  culprit open node.trace\n", DeclareOpen,
         "Serves this one file on loopback, under an address that nobody can guess, to Perfetto's "
         "page "
         "alone, and prints (on a desktop: opens) the address that shows it there. The trace goes "
         "from "
         "this machine into the browser and nowhere else. It ends when the page has the trace.\n"},
    Verb{"help", "[VERB]\n--man | --markdown | --completion SHELL",
         "explain a verb, or list them all",
         "  culprit help record\n"
         "  source <(culprit help --completion bash)   # completion in this shell\n",
         DeclareHelp},
};

}  // namespace

std::span<const Verb> Verbs() { return kVerbs; }

}  // namespace culprit::cli

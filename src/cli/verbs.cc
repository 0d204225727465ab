#include "cli/verbs.h"

#include <array>

#include "cli/verb.h"

namespace culprit::cli {
namespace {

constexpr std::array kVerbs = {
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

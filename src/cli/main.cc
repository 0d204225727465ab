// The program: everything it can do is in the table of verbs.cc.
#include "cli/program.h"

int main(int argc, char** argv) { return culprit::cli::Program().Run(argc, argv); }

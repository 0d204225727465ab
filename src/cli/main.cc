// The program: everything it can do is in the table of verbs.cc.
#include <fcntl.h>
#include <unistd.h>

#include "cli/program.h"

namespace {

// A caller may have closed 0, 1 or 2: then the next file that is opened would take the number, and
// be written to as if it were the terminal. Open the wrong way round, so that using one still
// fails.
void FillStandardDescriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) != -1) continue;
    const int flags = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", flags) != fd) _exit(1);  // the lowest free number, or none is left
  }
}

}  // namespace

int main(int argc, char** argv) {
  FillStandardDescriptors();
  return culprit::cli::Program().Run(argc, argv);
}

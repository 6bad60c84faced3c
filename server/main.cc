#include "server/program.h"

int main(int argc, char** argv) { return weir::RunProgram(argc, argv); }

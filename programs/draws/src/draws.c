// Commitments of draws. A founder creates a draws account with the facts of all its rounds; its committer then stores one commitment per
// round, which nobody can change or repeat. The program is one translation unit with this entry point. ../README.md is the specification.
#include "commit.h"
#include "found.h"

enum { INSTRUCTION_INIT_DRAWS = 0, INSTRUCTION_ROTATE = 1, INSTRUCTION_COMMIT = 2 };

u64 entrypoint(u8 *at) {
  Input input;
  TRY(read_input(&input, at));
  REQUIRE(input.data_len > 0, BadInstruction);
  switch (input.data[0]) {
    case INSTRUCTION_INIT_DRAWS: return init_draws(&input);
    case INSTRUCTION_ROTATE: return rotate(&input);
    case INSTRUCTION_COMMIT: return commit(&input);
    default: return BadInstruction;
  }
}

// The rewards distributor. An epoch is a Merkle root of claims and a vault that holds their tokens. Any account may submit a claim; the
// program pays the wallet in the leaf, once. The program is one translation unit with this entry point. ../README.md is the specification.
#include "claim.h"
#include "finish.h"
#include "open.h"

enum { INSTRUCTION_OPEN = 0, INSTRUCTION_CLAIM = 1, INSTRUCTION_SETTLE = 2, INSTRUCTION_CLOSE = 3, INSTRUCTION_CLOSE_PAGE = 4 };

u64 entrypoint(u8 *at) {
  Input input;
  TRY(read_input(&input, at));
  REQUIRE(input.data_len > 0, BadInstruction);
  switch (input.data[0]) {
    case INSTRUCTION_OPEN: return open(&input);
    case INSTRUCTION_CLAIM: return claim(&input);
    case INSTRUCTION_SETTLE: return settle(&input);
    case INSTRUCTION_CLOSE: return close(&input);
    case INSTRUCTION_CLOSE_PAGE: return close_page(&input);
    default: return BadInstruction;
  }
}

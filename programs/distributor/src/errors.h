// Why an instruction is refused: the program's custom error codes. src/chain/distributor/errors.ts says each in a sentence.
// They start where no code of the system or the token program is, whose errors surface as custom codes too.
#pragma once

typedef enum {
  OK = 0,

  BadInstruction = 6000, // unknown, too short, too long, or a reserved byte is set
  BadAccounts,           // too few, too many, or one twice
  MissingSignature,
  NotWritable,
  WrongProgram, // not the token or the system program
  WrongAddress, // not the address that belongs there
  NotAnEpoch,
  NotAPage,
  AlreadyOpened, // open or over: an epoch's address is used once
  NotOpen,       // settled or closed

  EmptyEpoch, // no leaves, or a total of 0
  BadExpiry,  // sooner than in a day or later than in 400
  BadMint,
  MintCanFreeze, // and the flag that accepts it is not set
  BadVault,
  VaultFrozen,
  Unfunded, // the vault holds less than the total
  BadRefund,
  RefundFrozen,

  Expired,
  NotExpired, // and not settled
  BadIndex,
  BadProof,
  AlreadyClaimed,
  ExceedsTotal, // more than what is left of the total
  NoDestination,
  BadDestination,
  DestinationFrozen,

  WrongAuthority,
  NotClosed,   // pages go after their epoch
  BadTransfer, // the balances did not move by exactly the amount
  BadRent,     // the rent sysvar says something unknown
  RuntimeError, // a system call failed
} Result;

// Every step is checked: on to the next one, or out.
#define TRY(step)                                                                                                                    \
  do {                                                                                                                               \
    Result result_ = (step);                                                                                                         \
    if (result_ != OK) return result_;                                                                                               \
  } while (0)
#define REQUIRE(condition, otherwise)                                                                                                \
  do {                                                                                                                               \
    if (!(condition)) return (otherwise);                                                                                            \
  } while (0)

// The custom error codes of the program. src/platform/solana/draws/errors.ts has the messages.
// The codes start at 7000, so that they differ from the custom codes of the system program and the distributor.
#pragma once

typedef enum {
  OK = 0,

  BadInstruction = 7000, // unknown instruction, wrong length, or a reserved byte is set
  BadAccounts,           // wrong number of accounts, or an account is listed twice
  MissingSignature,
  NotWritable,
  WrongProgram, // the account is not the system program
  WrongAddress, // the account does not have the required address
  NotDraws,
  AlreadyFounded,   // the founder already has a draws account
  AlreadyCommitted, // a round is committed only once

  BadMargin,  // less than 60 seconds
  BadWindow,  // less than the margin or more than 600 seconds
  BadPeriod,  // 0 or more than a day
  BadGenesis, // not after 1970, or in the future

  WrongFounder,
  WrongCommitter,
  BadRound, // not 1 to 2^32, or its time exceeds 64 bits
  TooSoon,  // the time of the beacon round is less than the margin ahead
  TooFar,   // the time of the beacon round is more than margin and window ahead

  BadRent,      // the rent sysvar has an unsupported value
  RuntimeError, // a system call failed
} Result;

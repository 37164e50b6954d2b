// The custom error codes of the program. src/platform/solana/distributor/errors.ts has the messages.
// The codes start at 6000, so that they differ from the custom codes of the system program and the token program.
#pragma once

typedef enum {
  OK = 0,

  BadInstruction = 6000, // unknown instruction, wrong length, or a reserved byte is set
  BadAccounts,           // wrong number of accounts, or an account is listed twice
  MissingSignature,
  NotWritable,
  WrongProgram, // the account is not the token program or the system program
  WrongAddress, // the account does not have the required address
  NotAnEpoch,
  NotAPage,
  AlreadyOpened, // an epoch address is used only once, also after closing
  NotOpen,       // the epoch is settled or closed

  EmptyEpoch, // leaves or total is 0
  BadExpiry,  // less than 1 day or more than 400 days ahead
  BadMint,
  MintCanFreeze, // the mint has a freeze authority and the flag that accepts it is not set
  BadVault,
  VaultFrozen,
  Unfunded, // the balance of the vault is less than the total
  BadRefund,
  RefundFrozen,

  Expired,
  NotExpired, // the epoch is neither expired nor settled
  BadIndex,
  BadProof,
  AlreadyClaimed,
  ExceedsTotal, // the amount exceeds the unclaimed rest of the total
  NoDestination,
  BadDestination,
  DestinationFrozen,

  WrongAuthority,
  NotClosed,   // the epoch must be closed before its pages
  BadTransfer, // the balances did not change by exactly the amount
  BadRent,     // the rent sysvar has an unsupported value
  RuntimeError, // a system call failed
} Result;

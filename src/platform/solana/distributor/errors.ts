/** Why the program refuses: its custom error codes (programs/distributor/src/errors.h), in order from the first. */
const FIRST = 6000;
const ERRORS = [
  ['BadInstruction', 'the instruction is unknown, or has the wrong length'],
  ['BadAccounts', 'there are too few accounts, too many, or one twice'],
  ['MissingSignature', 'a signature is missing'],
  ['NotWritable', 'an account that must be writable is not'],
  ['WrongProgram', 'this is not the token or the system program'],
  ['WrongAddress', 'an account is not at the address that belongs there'],
  ['NotAnEpoch', 'the account is not an epoch'],
  ['NotAPage', 'the account is not a page of this epoch'],
  ['AlreadyOpened', 'the epoch has been opened before'],
  ['NotOpen', 'the epoch is settled or closed'],
  ['EmptyEpoch', 'an epoch needs leaves and a total'],
  ['BadExpiry', 'an epoch ends between a day and 400 days after it is opened'],
  ['BadMint', 'the mint is not a classic SPL mint'],
  ['MintCanFreeze', 'the mint has a freeze authority, and that was not accepted'],
  ['BadVault', 'the vault is not the token account it must be'],
  ['VaultFrozen', 'the vault is frozen'],
  ['Unfunded', 'the vault holds less than the total'],
  ['BadRefund', 'the refund account is not the token account it must be'],
  ['RefundFrozen', 'the refund account is frozen'],
  ['Expired', 'the epoch is over'],
  ['NotExpired', 'the epoch is neither over nor settled'],
  ['BadIndex', 'the epoch has no such claim'],
  ['BadProof', 'the claim is not in the tree'],
  ['AlreadyClaimed', 'the claim has been paid'],
  ['ExceedsTotal', 'the claim is more than what is left'],
  ['NoDestination', 'the wallet has no token account'],
  ['BadDestination', 'the wallet’s token account is not its own'],
  ['DestinationFrozen', 'the wallet’s token account is frozen'],
  ['WrongAuthority', 'this is not the authority of the epoch'],
  ['NotClosed', 'the epoch is not closed'],
  ['BadTransfer', 'the balances did not move by the amount'],
  ['BadRent', 'the rent of the cluster is not understood'],
  ['RuntimeError', 'a system call failed'],
] as const;

export interface DistributorError {
  readonly name: (typeof ERRORS)[number][0];
  readonly message: string;
}

/** The program's error of a custom error code; null for a code that is not its own, such as one of the token program. */
export function distributorError(code: number): DistributorError | null {
  const error = ERRORS[code - FIRST];
  return error ? { name: error[0], message: error[1] } : null;
}

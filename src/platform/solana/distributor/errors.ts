/** The lowest custom error code of the distributor program. */
const FIRST_CODE = 6000;
/** The custom errors of the distributor program, in ascending order of their codes, as in programs/distributor/src/errors.h. */
const ERRORS = [
  ['BadInstruction', 'the instruction is unknown or has a wrong length'],
  ['BadAccounts', 'the number of accounts is wrong, or an account is listed twice'],
  ['MissingSignature', 'a required signature is missing'],
  ['NotWritable', 'an account that must be writable is read-only'],
  ['WrongProgram', 'the account must be the token program or the system program'],
  ['WrongAddress', 'an account does not have the required address'],
  ['NotAnEpoch', 'the account is not an epoch account'],
  ['NotAPage', 'the account is not a bitmap page of this epoch'],
  ['AlreadyOpened', 'the epoch is already opened'],
  ['NotOpen', 'the epoch is settled or closed'],
  ['EmptyEpoch', 'an epoch must have at least one leaf and a total above 0'],
  ['BadExpiry', 'the expiry must be 1 to 400 days after the opening'],
  ['BadMint', 'the mint is not a classic SPL mint'],
  ['MintCanFreeze', 'the mint has a freeze authority, and the instruction does not accept it'],
  ['BadVault', 'the vault is not the associated token account of the epoch'],
  ['VaultFrozen', 'the vault is frozen'],
  ['Unfunded', 'the balance of the vault is less than the total'],
  ['BadRefund', 'the refund account is not the associated token account of the refund owner'],
  ['RefundFrozen', 'the refund account is frozen'],
  ['Expired', 'the epoch has expired'],
  ['NotExpired', 'the epoch is neither expired nor settled'],
  ['BadIndex', 'the claim index is not in the epoch'],
  ['BadProof', 'the proof does not match the root of the epoch'],
  ['AlreadyClaimed', 'the claim is already paid'],
  ['ExceedsTotal', 'the claim exceeds the unclaimed rest of the total'],
  ['NoDestination', 'the wallet has no token account'],
  ['BadDestination', 'the destination is not a token account that the wallet owns'],
  ['DestinationFrozen', 'the wallet’s token account is frozen'],
  ['WrongAuthority', 'the signer is not the authority of the epoch'],
  ['NotClosed', 'the epoch is not closed'],
  ['BadTransfer', 'the transfer did not change the balances by the amount'],
  ['BadRent', 'the rent parameters of the cluster are not supported'],
  ['RuntimeError', 'a system call failed'],
] as const;

interface DistributorError {
  readonly name: (typeof ERRORS)[number][0];
  readonly message: string;
}

/** Returns the distributor program's error for a custom error code; null for a code of another program, such as the token program. */
export function distributorError(code: number): DistributorError | null {
  const error = ERRORS[code - FIRST_CODE];
  return error ? { name: error[0], message: error[1] } : null;
}

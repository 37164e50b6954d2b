/** The lowest custom error code of the draws program. */
const FIRST_CODE = 7000;
/** The custom errors of the draws program, in ascending order of their codes, as in programs/draws/src/errors.h. */
const ERRORS = [
  ['BadInstruction', 'the instruction is unknown or has a wrong length'],
  ['BadAccounts', 'the number of accounts is wrong, or an account is listed twice'],
  ['MissingSignature', 'a required signature is missing'],
  ['NotWritable', 'an account that must be writable is read-only'],
  ['WrongProgram', 'the account must be the system program'],
  ['WrongAddress', 'an account does not have the required address'],
  ['NotDraws', 'the account is not a draws account'],
  ['AlreadyFounded', 'the founder already has a draws account'],
  ['AlreadyCommitted', 'the round is already committed'],
  ['BadMargin', 'the margin must be at least 60 seconds'],
  ['BadWindow', 'the window must be at least the margin and at most 600 seconds'],
  ['BadPeriod', 'the period of the beacon must be 1 to 86,400 seconds'],
  ['BadGenesis', 'the genesis of the beacon must be after 1970 and not in the future'],
  ['WrongFounder', 'the signer is not the founder'],
  ['WrongCommitter', 'the signer is not the committer'],
  ['BadRound', 'the beacon round must be 1 to 2^32, and its time must be in the range of 64 bits'],
  ['TooSoon', 'the time of the beacon round is less than the margin ahead'],
  ['TooFar', 'the time of the beacon round is more than margin and window ahead'],
  ['BadRent', 'the rent parameters of the cluster are not supported'],
  ['RuntimeError', 'a system call failed'],
] as const;

interface DrawsError {
  readonly name: (typeof ERRORS)[number][0];
  readonly message: string;
}

/** Returns the draws program's error for a custom error code; null for a code of another program, such as the system program. */
export function drawsError(code: number): DrawsError | null {
  const error = ERRORS[code - FIRST_CODE];
  return error ? { name: error[0], message: error[1] } : null;
}

import * as layout from '#lib/draw/accounts.ts';
import type { Address, RawAccount } from '../primitives.ts';

/** Bytes of a draws account. */
export const DRAWS_BYTES = 160;
/** Bytes of a commitment account. The rent of these bytes is the cost of a commitment, because the account is never deleted. */
export const COMMITMENT_BYTES = 120;

/** Decodes a draws account of the program. Returns null for any other account. */
export const decodeDraws = (program: Address, account: RawAccount): layout.DrawsAccount | null =>
  account?.owner.equals(program) ? layout.decodeDraws(account.data) : null;

/** Decodes a commitment account of the program. Returns null for any other account. The caller must compare `draws` with the expected account. */
export const decodeCommitment = (program: Address, account: RawAccount): layout.CommitmentAccount | null =>
  account?.owner.equals(program) ? layout.decodeCommitment(account.data) : null;

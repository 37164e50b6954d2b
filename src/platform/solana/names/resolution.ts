import { type Address, isOnCurve, ZERO_ADDRESS } from '../primitives.ts';

/** The wallet that a name resolves to, or the reason why payments to the name are rejected. */
export type NameResolution = { readonly wallet: Address } | { readonly refused: string };

export const NO_SUCH_NAME: NameResolution = { refused: 'no such name' };

/** The resolution of a name whose account does not have the layout of the registry. */
export const UNREADABLE_NAME: NameResolution = { refused: 'the name cannot be read: its account has an unexpected layout' };

/**
 * Resolves a name to an address that the owner of the name has set. The address of a program is accepted. The zero address is rejected, because it
 * marks an abandoned name.
 */
export const resolvesTo = (wallet: Address): NameResolution =>
  wallet.equals(ZERO_ADDRESS) ? { refused: 'the name has no owner: it points to the zero address' } : { wallet };

/** Resolves a name to its owner. Rejects an owner that is a program, because a program may not be able to use tokens sent to it. */
export const resolvesToOwner = (owner: Address): NameResolution =>
  isOnCurve(owner) ? resolvesTo(owner) : { refused: 'the owner of the name is a program, not a wallet' };

import { PublicKey } from '@solana/web3.js';

/** Where a name leads: to a wallet, or to none that money may be sent to, and why. */
export type Verdict = { readonly wallet: PublicKey } | { readonly refused: string };

export const UNKNOWN: Verdict = { refused: 'no such name' };

/** Of an account that ought to be one of a registry's, and is not laid out as one. */
export const UNREADABLE: Verdict = { refused: 'the name cannot be read: its account is not laid out as expected' };

/** A wallet that the owner has named; a program's address if he meant one. The zero address is where what is given up goes. */
export const leadsTo = (wallet: PublicKey): Verdict => (wallet.equals(PublicKey.default) ? { refused: 'the name belongs to nobody' } : { wallet });

/** The owner, where nothing else was said. A program that keeps a name is not known to pass on what it is sent. */
export const ownedBy = (owner: PublicKey): Verdict =>
  PublicKey.isOnCurve(owner.toBytes()) ? leadsTo(owner) : { refused: 'the name is held by a program, not by a wallet' };

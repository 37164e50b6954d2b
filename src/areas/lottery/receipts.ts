import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import bs58 from 'bs58';
import type { z } from 'zod';
import {
  receiptStatement,
  type SignedAnnouncement,
  type SignedClosed,
  Receipt as SignedReceipt,
  type Statement,
  signStatement,
} from '#lib/draw/statements.ts';
import { type App, perApp } from '#platform/app.ts';
import type { AcceptedEntry } from './entries.ts';

/**
 * A signed receipt of an accepted entry. Its running hash covers all entries up to this one, so the house cannot remove or change one of these entries
 * without contradicting the receipt.
 */
export const Receipt = SignedReceipt.meta({
  id: 'EntryReceipt',
  description:
    'A signed receipt of an accepted entry. `signature` is the ed25519 signature, hex, of the receipt key over the canonical JSON (RFC 8785) of `statement`. ' +
    'The draws account on the chain names the receipt key. `runningHash` covers all entries of the round up to this one.',
});
export type Receipt = z.output<typeof Receipt>;

/** PKCS #8 prefix of a raw ed25519 seed (RFC 8410). */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const RAW_PUBLIC_BYTES = 32;

interface ReceiptKey {
  readonly secret: KeyObject;
  /** The public key, base58 of 32 bytes. */
  readonly publicKey: string;
}

const signingKey = perApp(({ config }): ReceiptKey => {
  const secret = createPrivateKey({ key: Buffer.concat([PKCS8, config.receiptSeed]), format: 'der', type: 'pkcs8' });
  const spki = createPublicKey(secret).export({ format: 'der', type: 'spki' });
  return { secret, publicKey: bs58.encode(spki.subarray(-RAW_PUBLIC_BYTES)) };
});

/** Returns the key that signs receipts and the other statements about rounds. */
export const receiptKey = (app: App): ReceiptKey => app.state(signingKey);

function signed<Content extends Statement>(app: App, statement: Content): { statement: Content; signature: string } {
  const { secret } = receiptKey(app);
  return signStatement(statement, (bytes) => sign(null, bytes, secret));
}

/** The fields that all statements about a round have. */
interface StatedRound {
  /** Address of the draws account. */
  readonly draws: string;
  readonly round: string;
  /** Hex. */
  readonly parametersHash: string;
}

/** Signs the receipt of an entry. Deterministic. Precondition: the entry's transaction has committed. */
export function receiptOf(app: App, { id, round, draws, parametersHash, runningHash, ...entry }: AcceptedEntry): Receipt {
  return signed(app, receiptStatement({ draws, round, parametersHash }, id, entry, runningHash));
}

/** Signs the announcement of a round that opens. */
export const announce = (app: App, { draws, round, parametersHash }: StatedRound, announcedAt: string): SignedAnnouncement =>
  signed(app, { type: 'coinop/announcement/1', draws, round, parametersHash, announcedAt });

/** Signs the statement about the entries of a round that closes. @param runningHash running hash after the last entry, hex */
export const stateClosed = (
  app: App,
  { draws, round, parametersHash }: StatedRound,
  { closedAt, count, runningHash }: { readonly closedAt: string; readonly count: number; readonly runningHash: string },
): SignedClosed => signed(app, { type: 'coinop/closed/1', draws, round, parametersHash, closedAt, count, runningHash });

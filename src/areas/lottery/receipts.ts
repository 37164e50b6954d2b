import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import bs58 from 'bs58';
import { z } from 'zod';
import { canonicalize } from '#lib/canonical.ts';
import { Hash, Millisecond } from '#lib/draw/bytes.ts';
import { entryLeaf } from '#lib/draw/entry.ts';
import { Wallet } from '#lib/scalars.ts';
import { type App, perApp } from '#platform/app.ts';
import type { AcceptedEntry } from './entries.ts';

/** The signed fields of a receipt: all fields of the entry that are published later, and its leaf hash. */
const ReceiptBody = z.strictObject({
  version: z.literal(1),
  round: z.uuid(),
  entry: z.uuid(),
  index: z.int().min(0),
  wallet: Wallet,
  numbers: z.array(z.int().min(1)),
  source: z.string(),
  messageId: z.string(),
  at: Millisecond,
  leaf: Hash,
});

/**
 * A signed receipt of an accepted entry. If the published list lacks the entry, the wallet can prove with the receipt that the service accepted it.
 */
export const Receipt = z
  .strictObject({
    body: ReceiptBody,
    /** Id of the signing key in `/.well-known/coinop-keys`. */
    keyId: z.string(),
    /** Base64 ed25519 signature over "coinop/receipt/1", a line feed, and the canonical JSON (RFC 8785) of the body. */
    signature: z.string(),
  })
  .meta({
    id: 'EntryReceipt',
    description:
      'A signed receipt of an accepted entry. `signature` is a base64 ed25519 signature over `coinop/receipt/1`, a line feed, and the canonical JSON (RFC 8785) of `body`.',
  });
export type Receipt = z.output<typeof Receipt>;

const LABEL = 'coinop/receipt/1\n';
/** PKCS #8 prefix of a raw ed25519 seed (RFC 8410). */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const RAW_PUBLIC_BYTES = 32;

interface ReceiptKey {
  readonly secret: KeyObject;
  /** The public key, base58 of 32 bytes. */
  readonly publicKey: string;
  /** The first 8 characters of the public key. */
  readonly id: string;
}

const signingKey = perApp(({ config }): ReceiptKey => {
  const secret = createPrivateKey({ key: Buffer.concat([PKCS8, config.receiptSeed]), format: 'der', type: 'pkcs8' });
  const spki = createPublicKey(secret).export({ format: 'der', type: 'spki' });
  const publicKey = bs58.encode(spki.subarray(-RAW_PUBLIC_BYTES));
  return { secret, publicKey, id: publicKey.slice(0, 8) };
});

/** Returns the key that signs receipts. */
export const receiptKey = (app: App): ReceiptKey => app.state(signingKey);

/** Signs the receipt of an entry. Deterministic. Precondition: the entry's transaction has committed. */
export function receiptOf(app: App, { id, round, ...entry }: AcceptedEntry): Receipt {
  const key = receiptKey(app);
  const body = { version: 1 as const, round, entry: id, ...entry, numbers: [...entry.numbers], leaf: entryLeaf(round, entry) };
  return { body, keyId: key.id, signature: sign(null, Buffer.from(LABEL + canonicalize(body)), key.secret).toString('base64') };
}

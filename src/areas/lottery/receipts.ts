import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import bs58 from 'bs58';
import { z } from 'zod';
import { canonicalize } from '#lib/canonical.ts';
import { Hash, Millisecond } from '#lib/draw/bytes.ts';
import { entryLeaf } from '#lib/draw/entry.ts';
import { Wallet } from '#lib/scalars.ts';
import type { App } from '#platform/app.ts';
import type { AcceptedEntry } from './entries.ts';

/** What is signed of an entry: all that is published of it later, and its leaf. */
const ReceiptBody = z.strictObject({
  version: z.literal(1),
  round: z.uuid(),
  entry: z.uuid(),
  index: z.int().min(0),
  wallet: Wallet,
  numbers: z.array(z.int()),
  source: z.string(),
  messageId: z.string(),
  at: Millisecond,
  leaf: Hash,
});

/** A receipt of an entry: who holds it can show that an entry was accepted which the published ones lack. */
export const Receipt = z
  .strictObject({
    body: ReceiptBody,
    /** Which key of `/.well-known/coinop-keys`. */
    keyId: z.string(),
    /** ed25519, base64, over "coinop/receipt/1" LF and the canonical JSON (RFC 8785) of the body. */
    signature: z.string(),
  })
  .meta({
    id: 'EntryReceipt',
    description: 'Signed with ed25519: base64 over `coinop/receipt/1`, a line feed, and the canonical JSON (RFC 8785) of `body`.',
  });
export type Receipt = z.output<typeof Receipt>;

const LABEL = 'coinop/receipt/1\n';
/** What an ed25519 seed has before it in PKCS #8 (RFC 8410). */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const RAW_PUBLIC_BYTES = 32;

interface ReceiptKey {
  readonly secret: KeyObject;
  /** Base58 of its 32 bytes. */
  readonly publicKey: string;
  readonly id: string;
}
const keys = new WeakMap<App['config'], ReceiptKey>();

/** The key that signs receipts. Its id is the first 8 characters of its public key. */
export function receiptKey({ config }: Pick<App, 'config'>): ReceiptKey {
  const known = keys.get(config);
  if (known) return known;
  const secret = createPrivateKey({ key: Buffer.concat([PKCS8, config.receiptSeed]), format: 'der', type: 'pkcs8' });
  const spki = createPublicKey(secret).export({ format: 'der', type: 'spki' });
  const publicKey = bs58.encode(spki.subarray(-RAW_PUBLIC_BYTES));
  const key = { secret, publicKey, id: publicKey.slice(0, 8) };
  keys.set(config, key);
  return key;
}

/** Signs the receipt of an entry whose transaction has committed. The same entry, the same receipt. */
export function receiptOf(app: Pick<App, 'config'>, { id, round, ...entry }: AcceptedEntry): Receipt {
  const key = receiptKey(app);
  const body = { version: 1 as const, round, entry: id, ...entry, numbers: [...entry.numbers], leaf: entryLeaf(round, entry) };
  return { body, keyId: key.id, signature: sign(null, Buffer.from(LABEL + canonicalize(body)), key.secret).toString('base64') };
}

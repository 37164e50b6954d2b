import { createPublicKey, randomUUID, verify } from 'node:crypto';
import bs58 from 'bs58';
import { receiptKey } from '#areas/lottery/receipts.ts';
import { type ChatParameters, parametersHash } from '#lib/draw/parameters.ts';
import type { App } from '#platform/app.ts';
import type { TestApp } from '../app.ts';
import { createWallet, type JsonInit, type SignedIn } from '../wallet.ts';
import { sql } from './boards.ts';

/** The response of `POST /chat/message`. */
export interface ChatResponse {
  readonly status: number;
  readonly body: {
    messageId: string;
    entry?: { id: string; sequence: number; numbers: number[]; receipt: Receipt };
    error?: string;
  };
  readonly headers: Headers;
}
interface Receipt {
  body: Record<string, unknown> & { version: number; round: string; entry: string; index: number; at: string };
  keyId: string;
  signature: string;
}

/** Sends a chat message. */
export async function sendMessage(
  player: Pick<SignedIn, 'fetch'>,
  text: unknown,
  { key, ...init }: JsonInit & { key?: string } = {},
): Promise<ChatResponse> {
  const headers = new Headers(init.headers);
  if (key !== undefined) headers.set('Idempotency-Key', key);
  const response = await player.fetch('/chat/message', { ...init, headers, json: { text } });
  return { status: response.status, body: (await response.json()) as ChatResponse['body'], headers: response.headers };
}

const MINT = createWallet().address;

/** Closes the active round and opens a new one that accepts entries immediately. @returns its id */
export async function openRound({ app, clock }: Pick<TestApp, 'app' | 'clock'>, options: Partial<ChatParameters> = {}): Promise<string> {
  await closeRound(app);
  const round = randomUUID();
  const opensAt = clock.now();
  const parameters: ChatParameters = {
    ...{ version: 1, kind: 'chat', round, picks: 5, range: 50, prizes: [{ amount: '5', mint: MINT }], maxEntriesPerWallet: 1 },
    ...{ opensAt: opensAt.toISOString(), closesAt: new Date(opensAt.getTime() + 3_600_000).toISOString(), leadSec: 3, marginSec: 1 },
    ...options,
  };
  await app.tx((tx) =>
    tx.query(
      {
        text: `insert into rounds (id, kind, state, title, created_by, picks, range, max_entries_per_wallet, prizes, duration_sec, parameters, parameters_hash,
                 opens_at, closes_at)
               values ($1, 'chat', 'active', 'a round', 'test', $2, $3, $4, '[{"amount": "5", "mint": "reward"}]', 3600, $5, $6, $7, $8)`,
      },
      [
        ...[round, parameters.picks, parameters.range, parameters.maxEntriesPerWallet, JSON.stringify(parameters)],
        ...[parametersHash(parameters), parameters.opensAt, parameters.closesAt],
      ],
    ),
  );
  return round;
}

/** Freezes the active round, if any. */
export async function closeRound(app: App): Promise<void> {
  await app.tx((tx) => tx.query({ text: `update rounds set state = 'closing', closed_at = app_now() where kind = 'chat' and state = 'active'` }));
}

/** An entry as stored in the database. */
export interface StoredEntry {
  index: number;
  id: string;
  wallet: string;
  numbers: number[];
  source: string;
  message: string;
  /** ms since 1970. */
  at: number;
}
export const entriesOf = (app: App, round: string): Promise<StoredEntry[]> =>
  sql<StoredEntry>(
    app,
    'select index, id::text, wallet, numbers::int[] as numbers, source, message_id as message, (extract(epoch from at) * 1000)::float8 as at from entries where round = $1 order by index',
    [round],
  );

/** Verifies a receipt with Node's crypto module and the published public key. */
export function verifyReceipt(app: App, { body, keyId, signature }: Receipt): boolean {
  const { publicKey, id } = receiptKey(app);
  const key = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(bs58.decode(publicKey)).toString('base64url') } });
  const canonical = JSON.stringify(Object.fromEntries(Object.entries(body).sort(([a], [b]) => (a < b ? -1 : 1))));
  return keyId === id && verify(null, Buffer.from(`coinop/receipt/1\n${canonical}`), key, Buffer.from(signature, 'base64'));
}

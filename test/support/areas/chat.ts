import { createPublicKey, randomUUID, verify } from 'node:crypto';
import bs58 from 'bs58';
import { sql as kysely } from 'kysely';
import { openedColumns, openingOf } from '#areas/lottery/create.ts';
import { type Receipt, receiptKey } from '#areas/lottery/receipts.ts';
import { build } from '#areas/lottery/rows.ts';
import type { PrizeTerms } from '#areas/lottery/terms.ts';
import type { ChatParameters } from '#lib/draw/parameters.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { chatParameters } from '#test/lib/draw/rounds.ts';
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
  const opensAt = clock.now().getTime();
  const parameters: ChatParameters = {
    ...chatParameters({ round: randomUUID(), picks: 5, range: 50, prizes: [{ place: 1, amount: '5', mint: MINT }], maxEntriesPerWallet: 1 }),
    ...{ opensAt: new Date(opensAt).toISOString(), closesAt: new Date(opensAt + 3_600_000).toISOString() },
    ...options,
  };
  const { round, picks, range, maxEntriesPerWallet } = parameters;
  const terms = { title: 'a round', picks, range, max_entries_per_wallet: maxEntriesPerWallet, duration_sec: 3_600, created_by: 'test' };
  const prizes = kysely<PrizeTerms[]>`'[{"amount": "5", "mint": "reward"}]'`;
  const columns = openedColumns(openingOf(app, parameters));
  await app.tx((tx) => run(tx, build.insertInto('rounds').values({ id: round, kind: 'chat', state: 'active', ...terms, prizes, ...columns })));
  return round;
}

/** Freezes the active round, if any. */
export async function closeRound(app: App): Promise<void> {
  await app.tx((tx) =>
    tx.query({ text: `update rounds set state = 'closing', closed_at = app_now(), closed = '{}' where kind = 'chat' and state = 'active'` }),
  );
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
export function verifyReceipt(app: App, { statement, signature }: Receipt): boolean {
  const { publicKey } = receiptKey(app);
  const key = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(bs58.decode(publicKey)).toString('base64url') } });
  const canonical = JSON.stringify(Object.fromEntries(Object.entries(statement).sort(([a], [b]) => (a < b ? -1 : 1))));
  return verify(null, Buffer.from(canonical), key, Buffer.from(signature, 'hex'));
}

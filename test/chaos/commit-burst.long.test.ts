import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { readConfig } from '#config';
import { openContext } from '#context';
import { SYSTEM_ADMIN_TOKEN, type System, startSystem } from '#dev/stack/system.ts';
import type { App } from '#platform/app.ts';
import { addTickets, closeNow, openLegacy } from '#test/support/areas/draws.ts';
import { type PatientPlayer, patientPlayer, retryUntilPass } from '#test/support/areas/player.ts';

/** Number of rounds of wallets that close at once. `BURST_ROUNDS=1000` is the load of docs/benchmarks.md; it needs a machine without other tests. */
const ROUNDS = Number(process.env.BURST_ROUNDS ?? 300);
/** Maximum time from the first close until the last commitment is recorded, and until that of the operator's round is, seconds. */
const ALL_WITHIN_SEC = 120;
const CHAT_WITHIN_SEC = 30;
/** Rounds that this test opens or closes at the same time. */
const CONCURRENT = 16;

let system: System;
let player: PatientPlayer;
let db: pg.Client;
let app: App;

beforeAll(async () => {
  system = await startSystem({
    workers: 2,
    localnet: { slotMs: 400, finalizedAfter: 32, beaconMs: 3_000 },
    // The lead is long, so that no round is drawn while commitments wait.
    env: { LOG_LEVEL: 'error', DRAW_LEAD_SEC: '300', DAILY_SOL_LIMIT: '1000000000000' },
  });
  player = await patientPlayer(system.urls);
  db = new pg.Client({ connectionString: system.postgres.url });
  await db.connect();
  app = await openContext(readConfig(system.env), 'commit-burst');
}, 120_000);

afterAll(async () => {
  await app?.close();
  await db?.end();
  await system?.stop();
}, 60_000);

async function adminRequest(path: string, json: unknown = {}): Promise<{ id: string }> {
  const headers = { Authorization: `Bearer ${SYSTEM_ADMIN_TOKEN}`, 'Idempotency-Key': crypto.randomUUID() };
  const answer = await player.request<{ id: string; error?: string }>(path, { json, headers });
  if (answer.status >= 300) throw new Error(`${path} returned ${answer.status} ${answer.body.error}`);
  return answer.body;
}

/** Starts a chat round with one entry. @returns its id */
async function openChat(): Promise<string> {
  const { id } = await adminRequest('/chat/round', { title: 'at the same time', prizes: [{ amount: '1000', mint: 'usdc' }], durationSec: 600 });
  await adminRequest(`/chat/round/${id}/start`);
  await player.request('/chat/message', { json: { text: '!enter' }, headers: { 'Idempotency-Key': crypto.randomUUID() } });
  return id;
}

/** Runs a function for each item, `CONCURRENT` at a time. */
async function forAll<T>(items: Iterable<T>, work: (item: T) => Promise<unknown>): Promise<void> {
  const next = items[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: CONCURRENT }, async () => {
      for (let item = next.next(); !item.done; item = next.next()) await work(item.value);
    }),
  );
}

const one = async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row> => {
  const [row] = (await db.query<Row>(text, values)).rows;
  if (!row) throw new Error('the query returned no row');
  return row;
};

test(`${ROUNDS} rounds of wallets that close at once are committed within ${ALL_WITHIN_SEC} s, and a chat round within ${CHAT_WITHIN_SEC} s`, async () => {
  const legacy: string[] = [];
  await forAll(Array.from({ length: ROUNDS }).keys(), async (i) => {
    const id = await openLegacy({ app }, '0', `wallet ${i}`);
    await addTickets({ app }, id, 1);
    legacy.push(id);
  });
  const chat = await openChat();
  const rounds = [...legacy.slice(0, ROUNDS / 2), chat, ...legacy.slice(ROUNDS / 2)];
  await forAll(rounds, (id) => closeNow({ app }, id));

  await retryUntilPass(async () => {
    const { n } = await one<{ n: number }>(`select count(*)::int as n from rounds where id = any($1::uuid[]) and state = 'committed'`, [rounds]);
    expect(n).toBe(rounds.length);
  }, 400_000);
  const { last, chat: ofChat } = await one<{ last: number; chat: number }>(
    // A chat round states its planned closing time, so its time counts from the first close too.
    `select extract(epoch from max(committed_at) - min(closed_at))::float8 as last,
       extract(epoch from max(committed_at) filter (where kind = 'chat') - min(closed_at) filter (where kind = 'legacy'))::float8 as chat
     from rounds where id = any($1::uuid[])`,
    [rounds],
  );
  const sent = await one<{ transactions: number; landed: number; lamports: number; signature: string }>(
    `select count(*)::int as transactions, (count(*) filter (where a.state = 'finalized'))::int as landed, max(a.signature) filter (where a.state = 'finalized') as signature,
       sum((select sum((s->>'amount')::numeric) from jsonb_array_elements(a.spends) s)) filter (where a.state = 'finalized')::float8 as lamports
     from chain_attempts a join chain_transactions t on t.id = a.transaction_id where t.kind = 'draw-commitment'`,
  );
  const { rows: landed } = await db.query<{ signature: string; rounds: number }>(
    `select a.signature, 1 + cardinality(a.carried) as rounds from chain_attempts a join chain_transactions t on t.id = a.transaction_id
     where t.kind = 'draw-commitment' and a.state = 'finalized'`,
  );
  let units = 0;
  for (const { signature } of landed) units += await unitsOf(signature);
  process.stdout.write(
    `${JSON.stringify({
      rounds: rounds.length,
      lastCommitmentSec: Math.round(last),
      chatCommitmentSec: Math.round(ofChat),
      transactions: sent.transactions,
      landed: sent.landed,
      lamportsPerCommitment: Math.round(sent.lamports / rounds.length),
      unitsPerCommitment: Math.round(units / rounds.length),
    })}\n`,
  );
  expect(landed.reduce((sum, attempt) => sum + attempt.rounds, 0)).toBe(rounds.length);
  expect(ofChat).toBeLessThan(CHAT_WITHIN_SEC);
  expect(last).toBeLessThan(ALL_WITHIN_SEC);
}, 580_000);

/** Reads the compute units that a transaction used. */
async function unitsOf(signature: string): Promise<number> {
  const response = await fetch(app.config.chain.rpcUrl, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getTransaction', params: [signature, { maxSupportedTransactionVersion: 1 }] }),
  });
  const { result } = (await response.json()) as { result: { meta: { computeUnitsConsumed: number } } | null };
  if (!result) throw new Error(`the node does not know ${signature}`);
  return result.meta.computeUnitsConsumed;
}

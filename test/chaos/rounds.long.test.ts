import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { SYSTEM_ADMIN_TOKEN, type System, startSystem } from '#dev/stack/system.ts';
import type { Audit } from '#lib/draw/audit.ts';
import { entryLeaf } from '#lib/draw/entry.ts';
import { summarize } from '#lib/draw/round-leaf.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import { associatedTokenAddress, decodeTokenAccount } from '#platform/solana/tokens.ts';
import { type PatientPlayer, patientPlayer, retryUntilPass } from '#test/support/areas/player.ts';
import { connect } from '#test/support/solana/chain.ts';

/** Number of runs of each test. bin/soak sets a higher one. */
const ROUNDS = Number(process.env.CHAOS_ROUNDS ?? 1);
const PLAYERS = 16;
/** Maximum faults per round. A round takes about eight seconds, and a loaded machine needs time without faults to draw it. */
const MAX_FAULTS = 12;
const PRIZES = ['5000000', '3000000', '2000000', '1000000'];

interface Entered {
  messageId: string;
  entry: { id: string; sequence: number; receipt: { statement: { leaf: string } } };
}

let system: System;
let players: PatientPlayer[];
let db: pg.Client;

beforeAll(async () => {
  system = await startSystem({
    apis: 2,
    workers: 2,
    localnet: { slotMs: 20, finalizedAfter: 8, beaconMs: 1_000 },
    env: {
      ...{ LANDING_POLL_MS: '50', LANDING_RECHECK_MS: '200', LANDING_DEPTH_BLOCKS: '4', LOG_LEVEL: 'fatal' },
      DRAW_LEAD_SEC: '4',
    },
  });
  players = await Promise.all(Array.from({ length: PLAYERS }, () => patientPlayer(system.urls)));
  db = new pg.Client({ connectionString: system.postgres.url });
  await db.connect();
}, 120_000);

afterAll(async () => {
  await db?.end();
  await system?.stop();
}, 60_000);

/** Sends a request with the admin token, and retries with the same idempotency key until there is a response. */
async function adminRequest(path: string, json: unknown = {}): Promise<{ id: string }> {
  const headers = { Authorization: `Bearer ${SYSTEM_ADMIN_TOKEN}`, 'Idempotency-Key': crypto.randomUUID() };
  const answer = await (players[0] as PatientPlayer).request<{ id: string; error?: string }>(path, { json, headers });
  if (answer.status >= 300) throw new Error(`${path} returned ${answer.status} ${answer.body.error}`);
  return answer.body;
}

async function read<T>(path: string): Promise<T> {
  const answer = await (players[0] as PatientPlayer).request<T>(path);
  if (answer.status !== 200) throw new Error(`${path} returned ${answer.status}`);
  return answer.body;
}

/** Runs a chat round and injects a fault repeatedly until the round is finalized. */
async function runRoundUnder(fault: () => Promise<void>): Promise<void> {
  const terms = { title: 'Through fire', prizes: PRIZES.map((amount) => ({ amount, mint: 'usdc' })), durationSec: 3, range: 10 };
  const { id } = await adminRequest('/chat/round', terms);
  await adminRequest(`/chat/round/${id}/start`);
  const entering = Promise.all(
    players.map(async (player) => {
      await sleep(randomInt(1_000));
      return await player.request<Entered>('/chat/message', { json: { text: '!enter' }, headers: { 'Idempotency-Key': crypto.randomUUID() } });
    }),
  );
  let ended = false;
  const injecting = (async () => {
    for (let i = 0; i < MAX_FAULTS && !ended; i++) {
      await sleep(randomInt(1_000));
      await fault();
    }
  })();
  try {
    const answers = await entering;
    await retryUntilPass(async () => {
      const { rows } = await db.query('select state from rounds where id = $1', [id]);
      expect(rows).toEqual([{ state: 'finalized' }]);
    }, 120_000);
    ended = true;
    await injecting;
    const entered = answers.filter(({ status }) => status === 201).map(({ body }) => body.entry);
    // 409: a fault delayed the entry until the round was closed.
    expect(answers.map(({ status }) => status).filter((status) => status !== 201 && status !== 409)).toEqual([]);
    await expectConsistent(id, entered);
  } finally {
    ended = true;
    await injecting.catch(() => undefined);
  }
}

/** Expects that the audit contains every confirmed entry and that each winner is paid exactly once. */
async function expectConsistent(id: string, entered: readonly Entered['entry'][]): Promise<void> {
  const audit = await read<Audit>(`/chat/round/${id}/audit`);
  const entries = (
    await db.query(
      `select index, wallet, numbers, source, message_id as "messageId", to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at
     from entries where round = $1 order by index`,
      [id],
    )
  ).rows;
  for (const { sequence, receipt } of entered) expect(entryLeaf(id, entries[sequence])).toBe(receipt.statement.leaf);
  expect(summarize(id, audit.parametersHash, entries)).toEqual(audit.entries);
  const winners = audit.winners ?? [];
  await retryUntilPass(async () => {
    const { rows } = await db.query(
      `select count(*)::int as n from payments where state = 'completed' and cause_kind = 'prize' and cause_id like $1`,
      [`${id}:%`],
    );
    expect(rows).toEqual([{ n: winners.length }]);
  }, 60_000);
  const connection = connect(system.localnet?.url ?? '');
  const mint = parseAddress(system.env.USDC_MINT ?? '');
  const { rows: won } = await db.query('select wallet, sum(amount)::text as amount from round_winners group by wallet');
  for (const { wallet, amount } of won) {
    const account = await connection.getAccountInfo(associatedTokenAddress(parseAddress(wallet), mint), 'finalized');
    expect([wallet, String(decodeTokenAccount(account)?.amount)]).toEqual([wallet, amount]);
  }
}

for (let round = 1; round <= ROUNDS; round++) {
  test(`a round is drawn and paid once while workers are killed repeatedly (round ${round})`, async () => {
    await runRoundUnder(async () => {
      const worker = system.workers[randomInt(2)];
      await worker?.kill();
      await worker?.start();
    });
  }, 180_000);

  test(`a round is drawn and paid once while API processes are killed and Redis loses its data (round ${round})`, async () => {
    await runRoundUnder(async () => {
      const api = system.apis[randomInt(2)];
      await api?.kill();
      await api?.start();
      if (randomInt(2) === 0) await system.redis.restart({ empty: true });
    });
  }, 180_000);
}

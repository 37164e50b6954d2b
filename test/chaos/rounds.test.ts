import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { PublicKey } from '@solana/web3.js';
import pg from 'pg';
import { SYSTEM_ADMIN_TOKEN, type System, startSystem } from '#dev/stack/system.ts';
import type { Audit } from '#lib/draw/audit.ts';
import { entriesRoot } from '#lib/draw/entry.ts';
import { associatedTokenAddress, decodeTokenAccount } from '#platform/solana/tokens.ts';
import { eventually, type PatientPlayer, patientPlayer } from '#test/support/areas/player.ts';
import { connect } from '#test/support/solana/chain.ts';

/** Rounds of every disaster; bin/soak asks for more. */
const ROUNDS = Number(process.env.CHAOS_ROUNDS ?? 1);
const PLAYERS = 16;
/** What happens to a round, at most: it takes some eight seconds, and a machine under load must have a moment to draw it. */
const DISASTERS = 12;
const PRIZES = ['5000000', '3000000', '2000000', '1000000'];

interface Entered {
  messageId: string;
  entry: { id: string; sequence: number; receipt: { body: { leaf: string } } };
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
      ...{ DRAW_LEAD_SEC: '4', DRAW_MARGIN_SEC: '1' },
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

/** Asks as an operator's script does: again, under the same key, until there is an answer. */
async function administer(path: string, json: unknown = {}): Promise<{ id: string }> {
  const headers = { Authorization: `Bearer ${SYSTEM_ADMIN_TOKEN}`, 'Idempotency-Key': crypto.randomUUID() };
  const answer = await (players[0] as PatientPlayer).ask<{ id: string; error?: string }>(path, { json, headers });
  if (answer.status >= 300) throw new Error(`${path} answered ${answer.status} ${answer.body.error}`);
  return answer.body;
}

async function read<T>(path: string): Promise<T> {
  const answer = await (players[0] as PatientPlayer).ask<T>(path);
  if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}`);
  return answer.body;
}

/** A round through which something terrible happens again and again, until it has ended. */
async function playThrough(disaster: () => Promise<void>): Promise<void> {
  const terms = { title: 'Through fire', prizes: PRIZES.map((amount) => ({ amount, mint: 'usdc' })), durationSec: 3, range: 10 };
  const { id } = await administer('/chat/round', terms);
  await administer(`/chat/round/${id}/start`);
  const entering = Promise.all(
    players.map(async (player) => {
      await sleep(randomInt(1_000));
      return await player.ask<Entered>('/chat/message', { json: { text: '!enter' }, headers: { 'Idempotency-Key': crypto.randomUUID() } });
    }),
  );
  let ended = false;
  const raging = (async () => {
    for (let i = 0; i < DISASTERS && !ended; i++) {
      await sleep(randomInt(1_000));
      await disaster();
    }
  })();
  try {
    const answers = await entering;
    await eventually(async () => {
      const { rows } = await db.query('select state from rounds where id = $1', [id]);
      expect(rows).toEqual([{ state: 'finalized' }]);
    }, 120_000);
    ended = true;
    await raging;
    const entered = answers.filter(({ status }) => status === 201).map(({ body }) => body.entry);
    // Who came too late, because of what happened, was refused.
    expect(answers.map(({ status }) => status).filter((status) => status !== 201 && status !== 409)).toEqual([]);
    await expectWhole(id, entered);
  } finally {
    ended = true;
    await raging.catch(() => undefined);
  }
}

/** What was confirmed is in the audit, and each winner was paid once. */
async function expectWhole(id: string, entered: readonly Entered['entry'][]): Promise<void> {
  const audit = await read<Audit>(`/chat/round/${id}/audit`);
  for (const { sequence, receipt } of entered) expect(audit.entryHashes[sequence]).toBe(receipt.body.leaf);
  const entries = (
    await db.query(
      `select index, wallet, numbers, source, message_id as "messageId", to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at
     from entries where round = $1 order by index`,
      [id],
    )
  ).rows;
  expect(entriesRoot(id, entries)).toBe(audit.entries.root);
  const winners = audit.winners ?? [];
  await eventually(async () => {
    const { rows } = await db.query(
      `select count(*)::int as n from payments where state = 'completed' and cause_kind = 'prize' and cause_id like $1`,
      [`${id}:%`],
    );
    expect(rows).toEqual([{ n: winners.length }]);
  }, 60_000);
  const connection = connect(system.localnet?.url ?? '');
  const mint = new PublicKey(system.env.USDC_MINT ?? '');
  const { rows: won } = await db.query('select wallet, sum(amount)::text as amount from round_winners group by wallet');
  for (const { wallet, amount } of won) {
    const account = await connection.getAccountInfo(associatedTokenAddress(new PublicKey(wallet), mint), 'finalized');
    expect([wallet, String(decodeTokenAccount(account)?.amount)]).toEqual([wallet, amount]);
  }
}

for (let round = 1; round <= ROUNDS; round++) {
  test(`a round survives workers that are killed again and again (round ${round})`, async () => {
    await playThrough(async () => {
      const worker = system.workers[randomInt(2)];
      await worker?.kill();
      await worker?.start();
    });
  }, 180_000);

  test(`a round survives killed API processes and a Redis with an empty memory (round ${round})`, async () => {
    await playThrough(async () => {
      const api = system.apis[randomInt(2)];
      await api?.kill();
      await api?.start();
      if (randomInt(2) === 0) await system.redis.restart({ empty: true });
    });
  }, 180_000);
}

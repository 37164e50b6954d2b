import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { SYSTEM_ADMIN_TOKEN, type System, startSystem } from '#dev/stack/system.ts';
import { type PatientPlayer, patientPlayer, retryUntilPass } from '#test/support/areas/player.ts';

/** 20 wallets have 500 rounds; DRAW_WALLETS sets another number. */
const WALLETS = Number(process.env.DRAW_WALLETS ?? 20);
const ROUNDS_PER_WALLET = 25;
const ROUNDS = WALLETS * ROUNDS_PER_WALLET;

let system: System;
let players: PatientPlayer[];
let db: pg.Client;
beforeAll(async () => {
  // The slots and the beacon have the times of mainnet.
  system = await startSystem({
    apis: 1,
    workers: 1,
    localnet: { slotMs: 400, finalizedAfter: 32, beaconMs: 3_000 },
    env: {
      DRAW_LEAD_SEC: '30',
      LEGACY_ROUNDS_UNFINISHED: '1000',
      LEGACY_ROUNDS_PER_WALLET: '1000',
      LEGACY_ROUNDS_PER_DAY: '10000',
      LOG_LEVEL: 'fatal',
    },
  });
  players = await Promise.all(Array.from({ length: WALLETS }, () => patientPlayer(system.urls)));
  db = new pg.Client({ connectionString: system.postgres.url });
  await db.connect();
}, 120_000);
afterAll(async () => {
  await db?.end();
  await system?.stop();
}, 60_000);

async function ask<T>(player: PatientPlayer, path: string, json: unknown, headers: Record<string, string> = {}): Promise<T> {
  const answer = await player.request<T & { error?: string }>(path, { json, headers: { 'Idempotency-Key': crypto.randomUUID(), ...headers } });
  if (answer.status >= 300) throw new Error(`${path} returned ${answer.status} ${answer.body.error}`);
  return answer.body;
}
const asAdmin = { Authorization: `Bearer ${SYSTEM_ADMIN_TOKEN}` };

test(`a chat round is committed within 30 s of its close, although ${ROUNDS} free legacy rounds are closed at the same moment`, async () => {
  const legacy: { id: string; by: PatientPlayer }[] = [];
  await Promise.all(
    players.map(async (by) => {
      for (let i = 0; i < ROUNDS_PER_WALLET; i++) {
        const { id } = await ask<{ id: string }>(by, '/round', { ticketPrice: '0' });
        await ask(by, `/round/${id}/ticket`, {});
        legacy.push({ id, by });
      }
    }),
  );
  const [first] = players;
  if (!first) throw new Error('there is no player');
  const terms = { title: 'First', prizes: [{ amount: '1000000', mint: 'usdc' }], durationSec: 5, picks: 1, range: 1 };
  const { id } = await ask<{ id: string }>(first, '/chat/round', terms, asAdmin);
  await ask(first, `/chat/round/${id}/start`, {}, asAdmin);
  await ask(first, '/chat/message', { text: '!enter' });
  // A wallet may have 48 of these requests in flight, and a repeated request counts twice.
  await Promise.all(
    [...Map.groupBy(legacy, ({ by }) => by)].map(async ([by, own]) => {
      for (const { id: round } of own) await ask(by, `/round/${round}/finalize`, {});
    }),
  );
  await retryUntilPass(async () => {
    const { rows } = await db.query('select state from rounds where id = $1', [id]);
    expect(['committed', 'finalized']).toContain(rows[0]?.state);
  }, 120_000);
  const { rows } = await db.query<{ landed: number; recorded: number }>(
    `select extract(epoch from c.at - r.closed_at)::float8 as landed, extract(epoch from r.committed_at - r.closed_at)::float8 as recorded
     from rounds r join commitments c on c.round = r.id where r.id = $1`,
    [id],
  );
  expect(rows[0]?.landed).toBeLessThanOrEqual(30);
  expect(rows[0]?.recorded).toBeLessThanOrEqual(30);
  // Every legacy round is committed too, in time.
  await retryUntilPass(async () => {
    const late = await db.query(`select count(*)::int as n from rounds where kind = 'legacy' and state not in ('committed', 'finalized')`);
    expect(late.rows).toEqual([{ n: 0 }]);
  }, 240_000);
  const { rows: times } = await db.query<{ rounds: number; last: number }>(
    `select count(*)::int as rounds, max(extract(epoch from c.at - r.closed_at))::float8 as last
     from rounds r join commitments c on c.round = r.id where r.kind = 'legacy'`,
  );
  process.stdout.write(
    `${ROUNDS} legacy rounds: the last one is committed ${times[0]?.last.toFixed(1)} s after its close; the chat round after ${rows[0]?.landed.toFixed(1)} s\n`,
  );
  expect(times[0]?.rounds).toBe(ROUNDS);
  expect(times[0]?.last).toBeLessThanOrEqual(120);
}, 480_000);

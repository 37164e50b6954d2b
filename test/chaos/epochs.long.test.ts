import { randomBytes, randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import bs58 from 'bs58';
import pg from 'pg';
import { EpochView } from '#areas/rewards/schemas.ts';
import { SYSTEM_ADMIN_TOKEN, type System, startSystem } from '#dev/stack/system.ts';
import { buildTree, leafHash, rootOf } from '#lib/merkle.ts';
import { PATIENCE } from '#test/support/patience.ts';

/** Number of epochs whose workers are killed during the computation. bin/soak sets a higher one. */
const ROUNDS = Number(process.env.CHAOS_ROUNDS ?? 1) * 2;
const WALLETS = 60_000;
const FIRST_DAY = 20_000;

let system: System;
let db: pg.Client;
const url = () => system.urls[0] ?? '';

beforeAll(
  async () => {
    system = await startSystem({ workers: 2, env: { QUEUES: 'maintenance,epochs' } });
    db = new pg.Client({ connectionString: system.postgres.url });
    await db.connect();
    const wallets = Array.from({ length: WALLETS }, () => bs58.encode(randomBytes(32)));
    for (let day = FIRST_DAY; day < FIRST_DAY + ROUNDS; day++) {
      await db.query(
        `insert into ledger (wallet, mode, kind, reason, source, source_id, points, rewards, day, at, cause_day)
       select w, 'regular', 'game', 'score', 'score', gen_random_uuid()::text, 1 + (random() * 999)::int, true, $2, now(), 0 from unnest($1::text[]) w`,
        [wallets, day],
      );
    }
  },
  60_000 + ROUNDS * 20_000,
);
afterAll(async () => {
  await db?.end();
  await system?.stop();
}, 60_000);

async function readEpoch(epoch: number): Promise<EpochView> {
  return EpochView.parse(await (await fetch(`${url()}/api/rewards/epoch/${epoch}`)).json());
}

test(
  'an epoch whose workers are killed during the computation is computed completely and announced once',
  async () => {
    for (let day = FIRST_DAY; day < FIRST_DAY + ROUNDS; day++) {
      await db.query(`insert into closed_periods (period, bucket, finals_at) values ('day', $1, now()) on conflict do nothing`, [day]);
      await fetch(`${url()}/rewards/trigger-epoch`, {
        method: 'POST',
        body: JSON.stringify({ epoch: day }),
        headers: { Authorization: `Bearer ${SYSTEM_ADMIN_TOKEN}`, 'Content-Type': 'application/json', Prefer: 'wait=0' },
      });
      await sleep(randomInt(100, 1_200));
      await Promise.all(system.workers.map((worker) => worker.kill()));
      await Promise.all(system.workers.map((worker) => worker.start()));
      const deadline = performance.now() + PATIENCE * 60_000;
      while ((await readEpoch(day)).status === 'computing' && performance.now() < deadline) await sleep(100);

      const epoch = await readEpoch(day);
      expect(epoch.status).toBe('computed');
      const { rows } = await db.query('select index, wallet, amount::text from reward_leaves where epoch = $1 order by index', [day]);
      expect(rows.length).toBe(WALLETS);
      const paid = rows.filter((row) => row.amount !== '0');
      expect(String(paid.reduce((sum, { amount }) => sum + BigInt(amount), 0n))).toBe(epoch.total);
      const leaves = paid.map(({ index, wallet, amount }) => leafHash({ epoch: day, index, wallet: bs58.decode(wallet), amount: BigInt(amount) }));
      expect(Buffer.from(rootOf(buildTree(new Uint8Array(Buffer.concat(leaves))))).toString('hex')).toBe(epoch.root);
      const events = await db.query(`select 1 from outbox where type = 'epoch_computed' and payload->>'epoch' = $1`, [String(day)]);
      expect(events.rows.length).toBe(1);
    }
  },
  60_000 + ROUNDS * 90_000,
);

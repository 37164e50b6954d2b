import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { SYSTEM_ADMIN_TOKEN, type System, startSystem } from '#dev/stack/system.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import { associatedTokenAddress, decodeTokenAccount } from '#platform/solana/tokens.ts';
import { type PatientPlayer, patientPlayer, retryUntilPass } from '#test/support/areas/player.ts';
import { connect } from '#test/support/solana/chain.ts';
import { send } from '#test/support/wallet.ts';

/** Number of runs of each test. bin/soak sets a higher one. */
const ROUNDS = Number(process.env.CHAOS_ROUNDS ?? 1);
const PLAYERS = 16;

interface Receipt {
  claimId: string;
  status: string;
  signature: string | null;
}

let system: System;
let players: PatientPlayer[];
let db: pg.Client;
let epoch = Math.floor(Date.now() / 86_400_000);
const due = new Map<string, bigint>();

beforeAll(async () => {
  system = await startSystem({
    apis: 2,
    workers: 2,
    localnet: { slotMs: 20, finalizedAfter: 8 },
    env: { LANDING_POLL_MS: '50', LANDING_RECHECK_MS: '200', LANDING_DEPTH_BLOCKS: '4', LOG_LEVEL: 'fatal' },
  });
  players = await Promise.all(Array.from({ length: PLAYERS }, () => patientPlayer(system.urls)));
  db = new pg.Client({ connectionString: system.postgres.url });
  await db.connect();
}, 120_000);

afterAll(async () => {
  await db?.end();
  await system?.stop();
}, 60_000);

/** Imports an epoch with a reward for every player and waits until it is committed on the chain. @returns its number */
async function openEpoch(): Promise<number> {
  const day = --epoch;
  const distribution = players.map(({ wallet }) => ({ wallet, amount: String(randomInt(2_000_000, 50_000_000)) }));
  for (const { wallet, amount } of distribution) due.set(wallet, (due.get(wallet) ?? 0n) + BigInt(amount));
  const headers = { Authorization: `Bearer ${SYSTEM_ADMIN_TOKEN}` };
  const answer = await send({ url: system.urls[0] ?? '' }, '/api/rewards/epoch/import', { json: { epoch: day, distribution }, headers });
  expect([200, 201, 202]).toContain(answer.status);
  await retryUntilPass(async () => {
    const { rows } = await db.query('select state from epochs where epoch = $1', [day]);
    expect(rows).toEqual([{ state: 'committed' }]);
  }, 30_000);
  return day;
}

/** Claims a reward, and retries with the same idempotency key until there is a response. */
async function claim(player: PatientPlayer, day: number): Promise<Receipt> {
  const proof = await player.request<{ proof: string[] }>(`/api/rewards/epoch/${day}/proof/${player.wallet}`);
  const headers = { 'Idempotency-Key': crypto.randomUUID() };
  const answer = await player.request<Receipt>('/api/rewards/claim', { json: { epoch: day, proof: proof.body.proof }, headers });
  if (answer.status !== 200 && answer.status !== 202) throw new Error(`claim returned ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Lets every player claim during a fault, and expects that each is paid exactly once. */
async function claimDuring(fault: () => Promise<void>): Promise<void> {
  const day = await openEpoch();
  const claiming = players.map(async (player) => {
    await sleep(randomInt(800));
    return await claim(player, day);
  });
  await sleep(randomInt(400));
  await fault();
  const receipts = await Promise.all(claiming);
  await retryUntilPass(async () => {
    const { rows } = await db.query(`select count(*)::int as n from claims where epoch = $1 and state = 'claimed'`, [day]);
    expect(rows).toEqual([{ n: PLAYERS }]);
  }, 30_000);
  const { rows } = await db.query('select id, wallet, signature from claims where epoch = $1', [day]);
  const stored = new Map(rows.map((row) => [row.id, row]));
  for (const [i, receipt] of receipts.entries()) expect(stored.get(receipt.claimId)?.wallet).toBe(players[i]?.wallet);
  const connection = connect(system.localnet?.url ?? '');
  const mint = parseAddress(system.env.REWARD_MINT ?? '');
  for (const [wallet, amount] of due) {
    const account = await connection.getAccountInfo(associatedTokenAddress(parseAddress(wallet), mint), 'finalized');
    expect([wallet, decodeTokenAccount(account)?.amount]).toEqual([wallet, amount]);
  }
}

for (let round = 1; round <= ROUNDS; round++) {
  test(`every claim is paid once when the API processes are killed (round ${round})`, async () => {
    await claimDuring(async () => {
      for (const api of system.apis) {
        await api.kill();
        await api.start();
      }
    });
  }, 120_000);

  test(`every claim is paid once when all workers are killed at the same time (round ${round})`, async () => {
    await claimDuring(async () => {
      await Promise.all(system.workers.map((worker) => worker.kill()));
      await Promise.all(system.workers.map((worker) => worker.start()));
    });
  }, 120_000);

  test(`every claim is paid once when Redis restarts without its data (round ${round})`, async () => {
    await claimDuring(() => system.redis.restart({ empty: true }));
  }, 120_000);
}

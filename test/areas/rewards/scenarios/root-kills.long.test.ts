import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { expireEpochs, followEpochs } from '#areas/rewards';
import { postSettledOffChain } from '#areas/rewards/routes/settlement.ts';
import type { App } from '#platform/app.ts';
import { decodeEpoch, vaultAddress } from '#platform/solana/distributor/index.ts';
import { pollPending, signAndSend } from '#platform/solana/submission/index.ts';
import { associatedTokenAddress, decodeTokenAccount } from '#platform/solana/tokens.ts';
import { sql } from '#test/support/areas/boards.ts';
import { adminOf } from '#test/support/http/client.ts';
import { PATIENCE } from '#test/support/patience.ts';
import { accountOf, insertComputedEpoch, type RewardsTest, startRewardsTest } from '#test/support/solana/claims.ts';
import { Killed, killableApp } from '#test/support/solana/submission.ts';
import { createWallet } from '#test/support/wallet.ts';
import { transactionTypes } from '#workers/transaction-types.ts';

/** Step between the operations at which the worker is killed. bin/soak sets 1: at every operation. */
const EVERY = Number(process.env.CHAOS_EVERY ?? 17);
const TIMEOUT_MS = 60_000 + 1_000_000 / EVERY;
const FIRST_EPOCH = 1_100;

let t: RewardsTest;
beforeAll(async () => {
  t = await startRewardsTest({ workers: false, env: { DAILY_SOL_LIMIT: '1000000000000' } });
});
afterEach(() => t.chain.control.clear());
afterAll(() => t.close());

async function turn(app: App): Promise<void> {
  const due = await app.db.query<{ id: string }>({
    text: `select id::text from chain_transactions where state = 'queued' and next_at <= app_now() order by id`,
  });
  for (const { id } of due) await signAndSend(app, transactionTypes, id);
  await pollPending(app, transactionTypes);
  await followEpochs(app);
  await expireEpochs(app);
}

/** Runs turns until a condition holds. After operation `at`, uses an application that is not killed. @returns whether it was killed */
async function workUntil(isDone: () => Promise<boolean>, at: number, when: 'before' | 'after'): Promise<boolean> {
  const worker = killableApp(t.app, at, when);
  let killed = false;
  for (const end = performance.now() + PATIENCE * 20_000; performance.now() < end; await sleep(20)) {
    try {
      await turn(killed ? t.app : worker.app);
    } catch (error) {
      // Operations that run concurrently with the killed one may fail with other errors.
      if (!(error instanceof Killed) && worker.operations < at) throw error;
    }
    // The code under test may have caught `Killed` as the error of a dependency, so the operations are checked too.
    if (worker.operations >= at) killed = true;
    if (await isDone()) return killed;
    await sql(t.app, `update chain_transactions set next_at = app_now() where state = 'queued'`);
  }
  throw new Error(
    `not done: ${JSON.stringify(await sql(t.app, 'select kind, subject, state, error from chain_transactions where state <> $1', ['finalized']))}`,
  );
}

const account = (key: Parameters<RewardsTest['chain']['connection']['getAccountInfo']>[0]) => t.chain.connection.getAccountInfo(key, 'finalized');
const treasury = async () =>
  decodeTokenAccount(await account(associatedTokenAddress(t.chain.keys.treasury.publicKey, t.chain.keys.rewardMint.publicKey)))?.amount ?? 0n;
const stateOf = async (epoch: number) => decodeEpoch(t.chain.keys.program.publicKey, await account(accountOf(t, epoch)))?.state;
const isFinished = async () =>
  (await sql<{ n: number }>(t.app, `select count(*)::int as n from chain_transactions where state in ('queued', 'live', 'confirmed')`))[0]?.n === 0;
const isIn = (epoch: number, state: string) => async () =>
  (await sql<{ state: string }>(t.app, 'select state from epochs where epoch = $1', [epoch]))[0]?.state === state && (await isFinished());

test(
  'when a worker is killed at any operation under faults, an epoch is funded once, settled once, and its rest returns once',
  async () => {
    const sending = { methods: ['sendTransaction'] };
    await t.chain.control.fault({ kind: 'drop', probability: 0.2, seed: 1, ...sending });
    await t.chain.control.fault({ kind: 'loseReply', probability: 0.3, seed: 2, ...sending });
    await t.chain.control.fault({ kind: 'late', slots: 20, probability: 0.2, seed: 3, ...sending });
    await t.chain.control.fault({ kind: 'fork', slots: 4, probability: 0.3, seed: 4, ...sending });
    const start = await treasury();
    let at = 1;
    let epoch = FIRST_EPOCH;
    for (let killed = true; killed; at += EVERY, epoch++) {
      const when = epoch % 2 === 0 ? 'before' : 'after';
      await insertComputedEpoch(t.app, epoch, [[createWallet().address, 30n] as const, [createWallet().address, 70n] as const]);
      const killedOpening = await workUntil(isIn(epoch, 'committed'), at, when);
      expect([at, await treasury()]).toEqual([at, start - 100n]);
      expect([at, (await adminOf(t).call(postSettledOffChain, { body: { epochs: [epoch] } })).status]).toEqual([at, 202]);
      const killedSettling = await workUntil(isIn(epoch, 'settled'), at, when);
      expect([at, await stateOf(epoch), await treasury()]).toEqual([at, 'closed', start]);
      expect(await account(vaultAddress(accountOf(t, epoch), t.chain.keys.rewardMint.publicKey))).toBeNull();
      killed = killedOpening || killedSettling;
    }
    // Each of the two takes more operations than this.
    expect(at).toBeGreaterThan(40);
    const settled = `select payload->>'epoch' as epoch from outbox where type = 'epoch_settled' group by 1 having count(*) <> 1`;
    expect(await sql(t.app, settled)).toEqual([]);
    const twice = `select transaction_id from chain_attempts where state = 'finalized' group by 1 having count(*) > 1`;
    expect(await sql(t.app, twice)).toEqual([]);
  },
  TIMEOUT_MS,
);

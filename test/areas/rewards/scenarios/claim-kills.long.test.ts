import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { followEpochs } from '#areas/rewards';
import { requestClaim } from '#areas/rewards/claims/request.ts';
import type { FaultRule } from '#dev/localnet/control/commands.ts';
import type { App } from '#platform/app.ts';
import { pollPending, signAndSend } from '#platform/solana/submission/index.ts';
import { sql } from '#test/support/areas/boards.ts';
import { PATIENCE } from '#test/support/patience.ts';
import {
  accountOf,
  claimAsStranger,
  insertComputedEpoch,
  newStranger,
  openTokenAccount,
  type RewardsTest,
  rewardOf,
  startRewardsTest,
  storedClaims,
  type TestEpoch,
} from '#test/support/solana/claims.ts';
import { type KillableApp, Killed, killableApp } from '#test/support/solana/submission.ts';
import { createWallet } from '#test/support/wallet.ts';
import { transactionTypes } from '#workers/transaction-types.ts';

/** Step between the operations at which the worker is killed. bin/soak sets 1: at every operation. */
const EVERY = Number(process.env.CHAOS_EVERY ?? 37);
const TIMEOUT_MS = 60_000 + 1_000_000 / EVERY;
const SEND = ['sendTransaction'];
/** What happens to the transactions of each epoch, all at the same time. A stranger claims every leaf of the last epoch. */
const FAULTS: readonly (FaultRule | 'none' | 'stranger')[] = [
  'none',
  { kind: 'drop', probability: 0.5, seed: 1 },
  { kind: 'loseReply', methods: SEND },
  { kind: 'late', slots: 25, probability: 0.7, seed: 2 },
  { kind: 'fork', slots: 4, probability: 0.5, seed: 3 },
  'stranger',
];
const FIRST_EPOCH = 1_000;
/** Leaves per epoch, and so the maximum number of kills. */
const LEAVES = Math.ceil(600 / EVERY);

let t: RewardsTest;
beforeAll(async () => {
  t = await startRewardsTest({ workers: false, env: { TOKEN_ACCOUNT_DAILY_BUDGET: '1000000000000', DAILY_SOL_LIMIT: '1000000000000' } });
});
afterEach(() => t.chain.control.clear());
afterAll(() => t.close());

/** Signs, polls and follows once, as the workers do. */
async function turn(app: App): Promise<void> {
  const due = await app.db.query<{ id: string }>({
    text: `select id::text from chain_transactions where state = 'queued' and next_at <= app_now() order by id`,
  });
  for (const { id } of due) await signAndSend(app, transactionTypes, id);
  await pollPending(app, transactionTypes);
  await followEpochs(app);
}

/** Runs turns until a condition holds. After the kill, uses an application that is not killed. @returns whether it was killed */
async function workUntil(isDone: () => Promise<boolean>, process?: KillableApp, at = Number.POSITIVE_INFINITY): Promise<boolean> {
  let killed = process === undefined;
  const end = performance.now() + PATIENCE * 20_000;
  while (performance.now() < end) {
    try {
      await turn(killed || process === undefined ? t.app : process.app);
    } catch (error) {
      // Operations that run concurrently with the killed one may fail with other errors.
      if (!(error instanceof Killed) && (process?.operations ?? 0) < at) throw error;
    }
    // The code under test may have caught `Killed` as the error of a dependency, so the operations are checked too.
    if (process && process.operations >= at) killed = true;
    if (await isDone()) return killed;
    await sleep(20);
  }
  throw new Error(
    `not done: ${JSON.stringify(await sql(t.app, 'select kind, subject, state, error, evidence from chain_transactions where state <> $1', ['finalized']))}`,
  );
}

async function openEpochs(): Promise<TestEpoch[]> {
  const epochs: TestEpoch[] = [];
  for (const [i] of FAULTS.entries()) {
    // Above TOKEN_ACCOUNT_MIN_CLAIM, so that the claims open the token accounts.
    const amounts = Array.from({ length: LEAVES }, (_, n) => [createWallet().address, BigInt(1_000_000 + n)] as const);
    epochs.push(await insertComputedEpoch(t.app, FIRST_EPOCH + i, amounts));
  }
  const open = async () =>
    (await sql<{ n: number }>(t.app, `select count(*)::int as n from epochs where state = 'committed'`))[0]?.n === FAULTS.length;
  await workUntil(open);
  return epochs;
}

test(
  'when a worker is killed at any operation, under forks, lost replies, late landings and overtaking strangers, each claim is paid once',
  async () => {
    const epochs = await openEpochs();
    const stranger = await newStranger(t);
    for (const [i, fault] of FAULTS.entries()) {
      if (typeof fault === 'object') await t.chain.control.fault({ ...fault, mentions: accountOf(t, FIRST_EPOCH + i).toBase58() });
    }
    let kills = 0;
    let at = 1;
    let wasKilled = true;
    for (let n = 0; wasKilled && n < LEAVES; n++, at += EVERY) {
      const leaves = epochs.map(({ leaves }) => leaves[n]);
      const foreign: Promise<unknown>[] = [];
      for (const [i, leaf] of leaves.entries()) {
        if (!leaf) throw new Error('the epoch has too few leaves');
        await t.app.tx((tx) => requestClaim(tx, leaf.wallet, { epoch: FIRST_EPOCH + i, proof: leaf.proof.map((node) => Buffer.from(node, 'hex')) }));
        const epoch = epochs[i];
        if (FAULTS[i] !== 'stranger' || !epoch) continue;
        await openTokenAccount(t, leaf.wallet);
        foreign.push(claimAsStranger(t, epoch, [leaf], stranger).catch(() => undefined));
      }
      const isDone = async () => (await sql<{ n: number }>(t.app, `select count(*)::int as n from claims where state <> 'claimed'`))[0]?.n === 0;
      wasKilled = await workUntil(isDone, killableApp(t.app, at, n % 2 === 0 ? 'before' : 'after'), at);
      if (wasKilled) kills++;
      await Promise.all(foreign);
      for (const leaf of leaves) expect([at, leaf && (await rewardOf(t, leaf.wallet))]).toEqual([at, leaf?.amount]);
    }
    // The claims take more operations than this.
    expect(kills * EVERY).toBeGreaterThan(150);

    const overtaken = `select count(*)::int as n from claims c where epoch = $1 and not exists (select from chain_attempts a where a.signature = c.signature)`;
    expect((await sql<{ n: number }>(t.app, overtaken, [FIRST_EPOCH + FAULTS.indexOf('stranger')]))[0]?.n).toBeGreaterThan(0);
    const claims = (await Promise.all(FAULTS.map((_, i) => storedClaims(t, FIRST_EPOCH + i)))).flat();
    const { value } = await t.chain.connection.getSignatureStatuses(
      claims.map(({ signature }) => signature ?? ''),
      { searchTransactionHistory: true },
    );
    expect(value.filter((status) => status?.confirmationStatus !== 'finalized' || status.err !== null)).toEqual([]);
    expect(
      await sql(
        t.app,
        `select payload->>'claimId' as claim from outbox where type = 'claim_confirmed' and (payload->>'final')::bool group by 1 having count(*) <> 1`,
      ),
    ).toEqual([]);
    const twice = `select transaction_id from chain_attempts where state = 'finalized' group by 1 having count(*) > 1`;
    expect(await sql(t.app, twice)).toEqual([]);
  },
  TIMEOUT_MS,
);

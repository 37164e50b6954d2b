import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { followEpochs } from '#areas/rewards';
import type { FaultRule } from '#dev/localnet/control/commands.ts';
import { statement } from '#platform/db/sql.ts';
import { startWorker } from '#test/support/app.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import {
  accountOf,
  claimBody,
  newClaimant,
  newEpoch,
  openEpoch,
  type RewardsTest,
  rewardOf,
  startRewardsTest,
  type TestEpoch,
  untilClaim,
} from '#test/support/solana/claims.ts';
import type { SignedIn } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRewardsTest();
});
afterEach(() => t.chain.control.clear());
afterAll(() => t.close());

const requestClaim = (by: SignedIn, epoch: TestEpoch, wait = 20) =>
  by.fetch('/api/rewards/claim', { json: claimBody(epoch, by.wallet), headers: { Prefer: `wait=${wait}` } });

/** Waits until all leaves of an epoch are claimed, each once. */
async function untilAllPaid({ epoch, leaves }: TestEpoch): Promise<void> {
  for (const { index } of leaves) await untilClaim(t, epoch, index, 'claimed');
  const balances = await Promise.all(leaves.map(({ wallet }) => rewardOf(t, wallet)));
  expect(balances).toEqual(leaves.map(({ amount }) => amount));
}

const selectTypes = statement<{ types: string[] }>(
  'test_claim_event_types',
  `select array_agg(type || coalesce(':' || (payload->>'final'), '') order by id) as types from outbox where payload->>'claimId' = $1`,
);
const eventsOf = async (claimId: string) => (await t.app.db.query(selectTypes, [claimId]))[0]?.types;
const SEND = ['sendTransaction'];
/** Faults of the cluster for transactions that name an epoch. */
const LANDING: Record<string, FaultRule> = {
  'dropped until its blockhash expires': { kind: 'drop', times: 3 },
  'landed while the reply is lost': { kind: 'loseReply', methods: SEND, times: 3 },
  'landed late': { kind: 'late', slots: 60, times: 3 },
  'landed in the last possible block': { kind: 'late', last: true, times: 3 },
  'confirmed and then dropped by a fork': { kind: 'fork', slots: 4, times: 3 },
};
test(`each claim is paid once when its transaction is: ${Object.keys(LANDING).join('; ')}`, async () => {
  await Promise.all(
    Object.values(LANDING).map(async (fault) => {
      const { epoch, players } = await newEpoch(t, 3);
      await t.chain.control.fault({ ...fault, mentions: accountOf(t, epoch.epoch).toBase58() });
      const statuses = (await Promise.all(players.map((player) => requestClaim(player, epoch)))).map(({ status }) => status);
      expect(statuses).toEqual([200, 200, 200]);
      await untilAllPaid(epoch);
    }),
  );
});

test.each<FaultRule>([
  { kind: 'delay', ms: 100, times: 20 },
  { kind: 'rateLimit', times: 2 },
  { kind: 'fail', times: 2 },
  { kind: 'cut', times: 2 },
])('each claim is paid once when the RPC node has this fault: %j', async (fault) => {
  const { epoch, players } = await newEpoch(t, 2);
  await t.chain.control.fault(fault);
  expect((await Promise.all(players.map((player) => requestClaim(player, epoch)))).map(({ status }) => status)).toEqual([200, 200]);
  await untilAllPaid(epoch);
});

test('each claim is paid once while the RPC node lags behind', async () => {
  const { epoch, players } = await newEpoch(t, 3);
  await t.chain.control.lag(30);
  await Promise.all(players.map((player) => requestClaim(player, epoch)));
  await untilAllPaid(epoch);
});

test('a confirmed claim that a fork drops is sent again, and emits claim_confirmed again', async () => {
  const { epoch, players } = await newEpoch(t, 1);
  const [player] = players as [SignedIn];
  await t.chain.control.fault({ kind: 'fork', slots: 5, times: 1 });
  expect((await requestClaim(player, epoch)).status).toBe(200);
  const claim = await untilClaim(t, epoch.epoch, 0, 'claimed');
  expect(await eventsOf(claim.id)).toEqual(['claim_submitted', 'claim_confirmed:false', 'claim_confirmed:false', 'claim_confirmed:true']);
  expect(await rewardOf(t, player.wallet)).toBe(10n);
});

test('a landed claim whose transaction history was purged is found in the bitmap', async () => {
  const other = await startRewardsTest({ workers: false, chain: t.chain });
  const signing = await startWorker({ ...other.env, QUEUES: 'chain,sign-roots,polling' }, other.clock);
  try {
    const player = await newClaimant(other);
    const epoch = await openEpoch(other, 680, [[player.wallet, 10n]]);
    await signing.close();
    const blind = await startWorker({ ...other.env, QUEUES: 'chain,sign-claims' }, other.clock);
    expect((await requestClaim(player, epoch, 0)).status).toBe(202);
    await retryUntilPass(async () => expect(await rewardOf(other, player.wallet)).toBe(10n));
    await other.chain.control.purge();
    await other.chain.control.advance(400);
    // Two runs in which the history contains no claim.
    for (let round = 0; round < 2; round++) await followEpochs(other.app);
    expect(await untilClaim(other, 680, 0, 'claimed')).toMatchObject({ requested_by: player.wallet });
    await blind.close();
    expect(await rewardOf(other, player.wallet)).toBe(10n);
  } finally {
    await other.close();
  }
});

test('when a worker shuts down, the next worker completes its claims, and each claim is paid once', async () => {
  const other = await startRewardsTest({ workers: false, chain: t.chain });
  const workers = [await startWorker({ ...other.env }, other.clock)];
  try {
    const players = await Promise.all(Array.from({ length: 8 }, () => newClaimant(other)));
    const epoch = await openEpoch(
      other,
      681,
      players.map(({ wallet }) => [wallet, 10n]),
    );
    const responses = players.map(async (player, i) => {
      await sleep(40 * i);
      return (await requestClaim(player, epoch)).status;
    });
    await sleep(60);
    const [first] = workers;
    const stopped = first?.close();
    workers[0] = await startWorker({ ...other.env }, other.clock);
    expect(await Promise.all(responses)).toEqual(players.map(() => 200));
    for (const { index } of epoch.leaves) await untilClaim(other, 681, index, 'claimed');
    expect(await Promise.all(players.map(({ wallet }) => rewardOf(other, wallet)))).toEqual(players.map(() => 10n));
    await stopped;
  } finally {
    for (const worker of workers) await worker.close();
    await other.close();
  }
}, 60_000);

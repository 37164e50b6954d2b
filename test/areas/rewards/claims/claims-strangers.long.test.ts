import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { findClaimSignatures } from '#areas/rewards';
import { statement } from '#platform/db/sql.ts';
import { decodeEpoch } from '#platform/solana/distributor/index.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import {
  accountOf,
  claimAsStranger,
  claimBody,
  leafOf,
  newEpoch,
  newStranger,
  type RewardsTest,
  rewardOf,
  startRewardsTest,
  storedClaims,
  type TestEpoch,
  tokenAccountOf,
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

const selectTypes = statement<{ types: string[] }>(
  'test_claim_event_types',
  `select array_agg(type || coalesce(':' || (payload->>'final'), '') order by id) as types from outbox where payload->>'claimId' = $1`,
);
const eventsOf = async (claimId: string) => (await t.app.db.query(selectTypes, [claimId]))[0]?.types;
const selectAttempts = statement<{ state: string }>(
  'test_attempts_of_claim',
  `select a.state from chain_attempts a join chain_transactions t on t.id = a.transaction_id where t.kind = 'claim' and t.subject = $1 order by n`,
);
const attemptsOf = async (claimId: string) => (await t.app.db.query(selectAttempts, [claimId])).map(({ state }) => state);

test('when a stranger’s claim transaction lands first, our refused transaction does not fail the claim', async () => {
  const { epoch, players } = await newEpoch(t, 1);
  const [player] = players as [SignedIn];
  const stranger = await newStranger(t);
  // Every transaction of our fee payer lands late.
  await t.chain.control.fault({ kind: 'late', slots: 80, mentions: t.chain.keys.feePayer.publicKey.toBase58() });
  const responses = requestClaim(player, epoch);
  const submitted = await untilClaim(t, epoch.epoch, 0, 'submitted');
  const signature = await claimAsStranger(t, epoch, [leafOf(epoch, player.wallet)], stranger);
  const answer = await responses;
  expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ claimId: submitted.id, signature, status: 'claimed' })]);
  await retryUntilPass(async () => expect(await attemptsOf(submitted.id)).toEqual(['failed']));
  expect(await untilClaim(t, epoch.epoch, 0, 'claimed')).toMatchObject({ signature, requested_by: player.wallet });
  expect(await eventsOf(submitted.id)).toEqual(['claim_submitted', 'claim_confirmed:true']);
  expect(await rewardOf(t, player.wallet)).toBe(10n);
});

test('a claim request finds a stranger’s claim that the database does not have yet', async () => {
  const { epoch, players } = await newEpoch(t, 1);
  const [player] = players as [SignedIn];
  const signature = await claimAsStranger(t, epoch, [leafOf(epoch, player.wallet)]);
  const answer = await requestClaim(player, epoch);
  const body = JSON.stringify(await answer.json());
  expect([200, 409]).toContain(answer.status);
  expect(body).toContain(signature);
  expect((await storedClaims(t, epoch.epoch))[0]).toMatchObject({ state: 'claimed', signature });
});

const selectWaiting = statement<{ message: string | null }>(
  'test_waiting_claim',
  `select t.error->>'message' as message from chain_transactions t join claims c on t.kind = 'claim' and t.subject = c.id::text where c.epoch = $1`,
);

test('a claim waits while a stranger’s claim is confirmed, and is sent when a fork drops the stranger’s claim', async () => {
  const { epoch, players } = await newEpoch(t, 1);
  const [player] = players as [SignedIn];
  const { control } = t.chain;
  const stranger = await newStranger(t);
  // While the cluster is paused, no block is finalized.
  await control.pause();
  const claiming = claimAsStranger(t, epoch, [leafOf(epoch, player.wallet)], stranger);
  await retryUntilPass(async () => {
    await control.advance(1);
    expect(await rewardOf(t, player.wallet, 'confirmed')).toBe(10n);
  }, 5_000);
  const signature = await claiming;
  const responses = requestClaim(player, epoch);
  await retryUntilPass(async () => {
    const waiting = await t.app.db.query(selectWaiting, [epoch.epoch]);
    expect(waiting).toEqual([{ message: 'the leaf is claimed but not finalized yet' }]);
  });
  await control.fork(signature);
  await control.resume();
  expect((await responses).status).toBe(200);
  const claim = await untilClaim(t, epoch.epoch, 0, 'claimed');
  expect(claim.signature).not.toBe(signature);
  expect(await rewardOf(t, player.wallet)).toBe(10n);
});

test('under random faults and claims of strangers, each leaf is paid at most once and its claim is stored', async () => {
  const { epoch, players } = await newEpoch(t, 40, (i) => BigInt(i + 1));
  const random = randomGenerator(7);
  const choices = players.map((player) => ({ player, leaf: leafOf(epoch, player.wallet), by: WHO[random.int(0, WHO.length - 1)] }));
  await t.chain.control.fault({ kind: 'drop', probability: 0.1, seed: 1 });
  await t.chain.control.fault({ kind: 'loseReply', methods: ['sendTransaction'], probability: 0.1, seed: 2 });
  await t.chain.control.fault({ kind: 'late', slots: 20, probability: 0.2, seed: 3 });
  await t.chain.control.fault({ kind: 'fork', slots: 4, probability: 0.1, seed: 4 });

  const stranger = await newStranger(t);
  const requesters = choices.filter(({ by }) => by === 'us' || by === 'both').map(({ player }) => player);
  const responses = requesters.map((player) => requestClaim(player, epoch));
  const stolen = choices.filter(({ by }) => by === 'stranger' || by === 'both').map(({ leaf }) => leaf);
  // The stranger's transactions may fail or be dropped.
  const foreign = Array.from({ length: Math.ceil(stolen.length / 3) }, (_, i) =>
    claimAsStranger(t, epoch, stolen.slice(3 * i, 3 * i + 3), stranger, 1_000).catch(() => null),
  );
  const [statuses] = await Promise.all([Promise.all(responses.map(async (response) => (await response).status)), Promise.all(foreign)]);
  const statusOf = new Map(requesters.map((player, i) => [player.wallet, statuses[i]]));
  await t.chain.control.clear();

  const address = accountOf(t, epoch.epoch);
  await retryUntilPass(async () => {
    const onChain = decodeEpoch(t.chain.keys.program.publicKey, await t.chain.connection.getAccountInfo(address, 'finalized'));
    const rows = await storedClaims(t, epoch.epoch);
    expect(rows.filter(({ state }) => state !== 'claimed')).toEqual([]);
    expect(rows.reduce((sum, { amount }) => sum + BigInt(amount), 0n)).toBe(onChain?.claimed);
  }, 20_000);
  const rows = new Map((await storedClaims(t, epoch.epoch)).map((row) => [row.wallet, row]));
  for (const { player, leaf, by } of choices) {
    const row = rows.get(player.wallet);
    expect(await rewardOf(t, player.wallet)).toBe(row ? leaf.amount : 0n);
    // A request that arrives after the stranger's claim is refused with 409, so that its wallet is not stored as the requester.
    const isLate = by === 'both' && statusOf.get(player.wallet) === 409 && row?.requested_by === null;
    if (by === 'us' || by === 'both') expect(row).toMatchObject({ requested_by: isLate ? null : player.wallet, signature: expect.any(String) });
    if (by === 'nobody') expect(row).toBeUndefined();
  }
}, 60_000);

const WHO = ['us', 'stranger', 'both', 'nobody'] as const;

test('thousands of other transactions on the epoch account hide neither a stranger’s claim nor our own', async () => {
  const { epoch, players } = await newEpoch(t, 3);
  const [player, other, third] = players as [SignedIn, SignedIn, SignedIn];
  const account = accountOf(t, epoch.epoch).toBase58();
  const reads = await t.chain.control.fault({ kind: 'delay', ms: 0, methods: ['getTransaction'] });
  const pages = await t.chain.control.fault({ kind: 'delay', ms: 0, methods: ['getSignaturesForAddress'] });
  await t.chain.control.strangers([account], 6_000);
  expect((await requestClaim(player, epoch)).status).toBe(200);
  await untilClaim(t, epoch.epoch, 0, 'claimed');
  // Our own claims need no history.
  expect([await reads.hits(), await pages.hits()]).toEqual([0, 0]);
  await claimAsStranger(t, epoch, [leafOf(epoch, other.wallet)]);
  await untilClaim(t, epoch.epoch, 1, 'claimed', 30_000);
  // The history before this claim is not read again.
  expect(await pages.hits()).toBeLessThanOrEqual(15);
  const before = await reads.hits();
  const signature = await claimAsStranger(t, epoch, [leafOf(epoch, third.wallet)]);
  expect(await untilClaim(t, epoch.epoch, 2, 'claimed', 30_000)).toMatchObject({ signature });
  // A slow machine looks several times for the new claim. The history would take thousands of reads.
  expect((await reads.hits()) - before).toBeLessThanOrEqual(50);
});

test('thousands of later transactions on every account of a claim delay its signature, and not its state', async () => {
  const { epoch, players } = await newEpoch(t, 2);
  const [player, other] = players as [SignedIn, SignedIn];
  const { control } = t.chain;
  const addresses = [accountOf(t, epoch.epoch), tokenAccountOf(t, player.wallet)].map((address) => address.toBase58());
  const stranger = await newStranger(t);
  // While the cluster is paused, no block is finalized.
  await control.pause();
  const claiming = claimAsStranger(t, epoch, [leafOf(epoch, player.wallet)], stranger);
  await retryUntilPass(async () => {
    await control.advance(1);
    expect(await rewardOf(t, player.wallet, 'confirmed')).toBe(10n);
  }, 5_000);
  const signature = await claiming;
  await control.strangers(addresses, 3_000);
  await control.advance(200);
  expect(await untilClaim(t, epoch.epoch, 0, 'claimed')).toMatchObject({ signature: null });
  // The database has the claim although 3,000 newer transactions hide it. Other claims of the epoch do not wait.
  await control.resume();
  expect((await requestClaim(other, epoch)).status).toBe(200);
  await retryUntilPass(async () => {
    await t.app.tx((tx) => tx.query(hastenSearches, []));
    await findClaimSignatures(t.app);
    expect((await storedClaims(t, epoch.epoch))[0]).toMatchObject({ state: 'claimed', signature });
  }, 60_000);
  expect(await t.app.db.query(selectSearches, [epoch.epoch])).toEqual([]);
}, 90_000);

const hastenSearches = statement('test_hasten_searches', 'update claim_searches set next_at = app_now()');
const selectSearches = statement<{ claim: string }>(
  'test_searches_of_epoch',
  'select claim::text from claim_searches s join claims c on c.id = s.claim where c.epoch = $1',
);

test('a claim whose transaction no RPC node has stays claimed without a signature, and its search ends', async () => {
  const { epoch, players } = await newEpoch(t, 1);
  const [player] = players as [SignedIn];
  const hidden = await Promise.all(
    (['first', 'second'] as const).map((node) =>
      t.chain.control.fault({ kind: 'fail', status: 400, node, methods: ['getTransaction', 'getSignaturesForAddress'] }),
    ),
  );
  await claimAsStranger(t, epoch, [leafOf(epoch, player.wallet)]);
  await Promise.all(hidden.map(({ clear }) => clear()));
  await t.chain.control.purge(undefined, 'first');
  await t.chain.control.purge(undefined, 'second');
  expect(await untilClaim(t, epoch.epoch, 0, 'claimed')).toMatchObject({ signature: null });
  await retryUntilPass(async () => expect(await t.app.db.query(selectSearches, [epoch.epoch])).toEqual([]));
  expect((await storedClaims(t, epoch.epoch))[0]).toMatchObject({ state: 'claimed', signature: null });
});

import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { statement } from '#platform/db/sql.ts';
import { decodeEpoch } from '#platform/solana/distributor/index.ts';
import { generator } from '#test/support/areas/board-model.ts';
import { eventually } from '#test/support/areas/player.ts';
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
  untilClaim,
} from '#test/support/solana/claims.ts';
import type { SignedIn } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRewardsTest();
});
afterEach(() => t.chain.control.clear());
afterAll(() => t.close());

const ask = (by: SignedIn, epoch: TestEpoch, wait = 20) =>
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

test('a stranger who is faster claims for the wallet, and our own refused transaction is no failure', async () => {
  const { epoch, players } = await newEpoch(t, 1);
  const [player] = players as [SignedIn];
  const stranger = await newStranger(t);
  // Ours is late, however often it is sent.
  await t.chain.control.fault({ kind: 'late', slots: 80, mentions: t.chain.keys.feePayer.publicKey.toBase58() });
  const asked = ask(player, epoch);
  const submitted = await untilClaim(t, epoch.epoch, 0, 'submitted');
  const signature = await claimAsStranger(t, epoch, [leafOf(epoch, player.wallet)], stranger);
  const answer = await asked;
  expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ claimId: submitted.id, signature, status: 'claimed' })]);
  await eventually(async () => expect(await attemptsOf(submitted.id)).toEqual(['failed']));
  expect(await untilClaim(t, epoch.epoch, 0, 'claimed')).toMatchObject({ signature, requested_by: player.wallet });
  expect(await eventsOf(submitted.id)).toEqual(['claim_submitted', 'claim_confirmed:true']);
  expect(await rewardOf(t, player.wallet)).toBe(10n);
});

test('a stranger’s claim that is not known yet is found when the wallet asks', async () => {
  const { epoch, players } = await newEpoch(t, 1);
  const [player] = players as [SignedIn];
  const signature = await claimAsStranger(t, epoch, [leafOf(epoch, player.wallet)]);
  const answer = await ask(player, epoch);
  const body = JSON.stringify(await answer.json());
  expect([200, 409]).toContain(answer.status);
  expect(body).toContain(signature);
  expect((await storedClaims(t, epoch.epoch))[0]).toMatchObject({ state: 'claimed', signature });
});

const selectWaiting = statement<{ message: string | null }>(
  'test_waiting_claim',
  `select t.error->>'message' as message from chain_transactions t join claims c on t.kind = 'claim' and t.subject = c.id::text where c.epoch = $1`,
);

test('a stranger’s claim that is confirmed is waited for, and one that vanishes leaves the reward to ours', async () => {
  const { epoch, players } = await newEpoch(t, 1);
  const [player] = players as [SignedIn];
  const { control } = t.chain;
  const stranger = await newStranger(t);
  // Nothing becomes final.
  await control.pause();
  const claiming = claimAsStranger(t, epoch, [leafOf(epoch, player.wallet)], stranger);
  await eventually(async () => {
    await control.advance(1);
    expect(await rewardOf(t, player.wallet, 'confirmed')).toBe(10n);
  }, 5_000);
  const signature = await claiming;
  const asked = ask(player, epoch);
  await eventually(async () => {
    const waiting = await t.app.db.query(selectWaiting, [epoch.epoch]);
    expect(waiting).toEqual([{ message: 'it is claimed, and not final yet' }]);
  });
  await control.fork(signature);
  await control.resume();
  expect((await asked).status).toBe(200);
  const claim = await untilClaim(t, epoch.epoch, 0, 'claimed');
  expect(claim.signature).not.toBe(signature);
  expect(await rewardOf(t, player.wallet)).toBe(10n);
});

test('whoever claims what, and whatever happens on the way, each leaf is paid once and known to be', async () => {
  const { epoch, players } = await newEpoch(t, 40, (i) => BigInt(i + 1));
  const random = generator(7);
  const choices = players.map((player) => ({ player, leaf: leafOf(epoch, player.wallet), by: WHO[random.int(0, WHO.length - 1)] }));
  await t.chain.control.fault({ kind: 'drop', probability: 0.1, seed: 1 });
  await t.chain.control.fault({ kind: 'loseReply', methods: ['sendTransaction'], probability: 0.1, seed: 2 });
  await t.chain.control.fault({ kind: 'late', slots: 20, probability: 0.2, seed: 3 });
  await t.chain.control.fault({ kind: 'fork', slots: 4, probability: 0.1, seed: 4 });

  const stranger = await newStranger(t);
  const asked = choices.filter(({ by }) => by === 'us' || by === 'both').map(({ player }) => ask(player, epoch));
  const stolen = choices.filter(({ by }) => by === 'stranger' || by === 'both').map(({ leaf }) => leaf);
  // A stranger's transactions fail and vanish as they may.
  const foreign = Array.from({ length: Math.ceil(stolen.length / 3) }, (_, i) =>
    claimAsStranger(t, epoch, stolen.slice(3 * i, 3 * i + 3), stranger, 1_000).catch(() => null),
  );
  await Promise.all([...asked, ...foreign]);
  await t.chain.control.clear();

  const address = accountOf(t, epoch.epoch);
  await eventually(async () => {
    const onChain = decodeEpoch(t.chain.keys.program.publicKey, await t.chain.connection.getAccountInfo(address, 'finalized'));
    const rows = await storedClaims(t, epoch.epoch);
    expect(rows.filter(({ state }) => state !== 'claimed')).toEqual([]);
    expect(rows.reduce((sum, { amount }) => sum + BigInt(amount), 0n)).toBe(onChain?.claimed);
  }, 20_000);
  const rows = new Map((await storedClaims(t, epoch.epoch)).map((row) => [row.wallet, row]));
  for (const { player, leaf, by } of choices) {
    const row = rows.get(player.wallet);
    expect(await rewardOf(t, player.wallet)).toBe(row ? leaf.amount : 0n);
    if (by === 'us' || by === 'both') expect(row).toMatchObject({ requested_by: player.wallet, signature: expect.any(String) });
    if (by === 'nobody') expect(row).toBeUndefined();
  }
}, 60_000);

const WHO = ['us', 'stranger', 'both', 'nobody'] as const;

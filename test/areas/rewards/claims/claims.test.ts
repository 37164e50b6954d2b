import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { insertClaims } from '#areas/rewards/claims/rows.ts';
import { ClaimReceipt } from '#areas/rewards/claims/schemas.ts';
import { getClaim, getOwnClaims, postClaim } from '#areas/rewards/routes/claims.ts';
import { ClaimableView } from '#areas/rewards/schemas.ts';
import { newId } from '#lib/ids.ts';
import { statement } from '#platform/db/sql.ts';
import { pause, resume } from '#platform/solana/submission/index.ts';
import { clientOf } from '#test/support/http/client.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { holdTransaction, untilBlocked } from '#test/support/locks.ts';
import {
  claimBody,
  insertComputedEpoch,
  leafOf,
  newClaimant,
  openEpoch,
  type RewardsTest,
  rewardOf,
  startRewardsTest,
  storedClaims,
  type TestEpoch,
  untilClaim,
} from '#test/support/solana/claims.ts';
import { createWallet, type SignedIn, send } from '#test/support/wallet.ts';

let t: RewardsTest;
let player: SignedIn;
beforeAll(async () => {
  t = await startRewardsTest();
  player = await newClaimant(t);
});
afterAll(() => t.close());

/** Parses the receipt in a response of any status. */
const receiptOf = (response: Response) => jsonOf(response, ClaimReceipt);
const Refusal = z.strictObject({ error: z.string() });
const refusalOf = async (response: Promise<Response>) => [(await response).status, (await jsonOf(response, Refusal)).error];
const requestClaim = (by: SignedIn, epoch: TestEpoch, headers: Record<string, string> = {}) =>
  by.fetch('/api/rewards/claim', { json: claimBody(epoch, by.wallet), headers });

const selectEvents = statement<{ type: string; wallet: string | null; payload: Record<string, unknown> }>(
  'test_claim_events',
  `select type, wallet, payload from outbox where payload->>'claimId' = $1 order by id`,
);
const countAttempts = statement<{ n: number }>(
  'test_claim_attempts',
  `select count(*)::int as n from chain_attempts a join chain_transactions t on t.id = a.transaction_id where t.kind = 'claim' and t.subject = any($1::text[])`,
);
const expireAt = statement('test_expire_epoch', `update epochs set expires_at = app_now() + $2::interval where epoch = $1`);
const setEpochState = statement('test_settle_epoch', `update epochs set state = $2 where epoch = $1`);

/** Leaves of other wallets, so that proofs are not empty. */
const others = (n: number) => Array.from({ length: n }, () => [createWallet().address, 5n] as const);

test('a claim is sent, the response comes when it is confirmed, and the claim is finalized soon after', async () => {
  const epoch = await openEpoch(t, 100, [...others(2), [player.wallet, 2_000_000n], ...others(2)]);
  const client = clientOf(t, player);
  const { body } = await client.ok(postClaim, { body: { epoch: 100, proof: [...leafOf(epoch, player.wallet).proof] } });
  expect(body).toMatchObject({ epoch: 100, wallet: player.wallet, amount: '2000000', signature: expect.stringMatching(/^\w{80,90}$/) });
  expect(['confirmed', 'claimed']).toContain(body.status);
  expect(await rewardOf(t, player.wallet, 'confirmed')).toBe(2_000_000n);

  const claim = await untilClaim(t, 100, 2, 'claimed');
  expect(claim).toMatchObject({ id: body.claimId, signature: body.signature, requested_by: player.wallet });
  expect(await rewardOf(t, player.wallet)).toBe(2_000_000n);
  const shown = await client.ok(getClaim, { params: { id: body.claimId } });
  expect(shown.body).toMatchObject({ ...body, status: 'claimed', reason: null });
  const own = await client.ok(getOwnClaims, { query: {} });
  expect([own.headers.get('x-total-count'), own.body]).toEqual(['1', [shown.body]]);
  const events = await t.app.db.query(selectEvents, [body.claimId]);
  const [submitted, ...confirmed] = events.map(({ type, wallet, payload }) => [type, wallet, payload.final]);
  expect(submitted).toEqual(['claim_submitted', player.wallet, undefined]);
  // On a slow machine, the claim may be final when its state is read first.
  expect([
    [['claim_confirmed', null, true]],
    [
      ['claim_confirmed', null, false],
      ['claim_confirmed', null, true],
    ],
  ]).toContainEqual(confirmed);
  expect(events.at(-1)?.payload).toEqual({
    claimId: body.claimId,
    epoch: 100,
    wallet: player.wallet,
    amount: '2000000',
    signature: body.signature,
    final: true,
  });

  expect(await refusalOf(requestClaim(player, epoch))).toEqual([409, `epoch 100 is claimed already, by transaction ${body.signature}`]);
});

test('a claim in an epoch of one leaf has an empty proof', async () => {
  const epoch = await openEpoch(t, 101, [[player.wallet, 7n]]);
  expect(leafOf(epoch, player.wallet).proof).toEqual([]);
  expect((await requestClaim(player, epoch)).status).toBe(200);
});

test('an invalid claim request is refused with the reason and stores nothing', async () => {
  const stranger = await newClaimant(t, { tokenAccount: false });
  const epoch = await openEpoch(t, 102, [[player.wallet, 9n], ...others(5)]);
  const body = claimBody(epoch, player.wallet);
  const post = (by: SignedIn, json: object) => refusalOf(by.fetch('/api/rewards/claim', { json }));
  expect(await post(stranger, body)).toEqual([404, 'epoch 102 has no reward for this wallet']);
  expect(await post(player, { ...body, epoch: 99_999 })).toEqual([404, 'epoch 99999 has no reward for this wallet']);
  const wrong = [400, 'proof must lead from this wallet’s leaf to the root of epoch 102'];
  expect(await post(player, { ...body, proof: body.proof.slice(1) })).toEqual(wrong);
  expect(await post(player, { ...body, proof: [...body.proof, body.proof[0]] })).toEqual(wrong);
  expect(await post(player, { ...body, proof: epoch.leaves[1]?.proof })).toEqual(wrong);
  expect(await post(player, { ...body, proof: [...body.proof].reverse() })).toEqual(wrong);
  expect(await post(player, { ...body, proof: [] })).toEqual(wrong);
  expect(await post(player, { ...body, proof: ['zz'] })).toEqual([400, 'proof[0] must be 64 hexadecimal digits']);
  expect(await post(player, { ...body, proof: Array(33).fill('00'.repeat(32)) })).toEqual([400, 'proof must be at most 32 items long']);
  expect(await post(player, { ...body, epoch: -1 })).toEqual([400, 'epoch must be at least 0']);
  expect(await post(player, { epoch: 102 })).toEqual([400, 'proof is required and must be an array']);
  expect(await post(player, { ...body, amount: '9' })).toEqual([400, 'amount is not a known field']);
  expect((await send(t, '/api/rewards/claim', { json: body })).status).toBe(401);
  expect(await storedClaims(t, 102)).toEqual([]);
});

test('an epoch can be claimed from its commit until ten minutes before its expiry, and not after its settlement', async () => {
  await t.app.tx((tx) => pause(tx, 'roots', 'test'));
  const epoch = await insertComputedEpoch(t.app, 103, [[player.wallet, 11n], ...others(1)]);
  expect(await refusalOf(requestClaim(player, epoch))).toEqual([409, 'epoch 103 is not committed to the chain yet']);
  await t.app.tx((tx) => resume(tx, 'roots'));

  const open = await openEpoch(t, 104, [[player.wallet, 11n], ...others(1)]);
  const expired = [409, 'epoch 104 is expired; its rewards cannot be claimed any more'];
  await t.app.tx((tx) => tx.query(expireAt, [104, '9 minutes 59 seconds']));
  expect(await refusalOf(requestClaim(player, open))).toEqual(expired);
  await t.app.tx((tx) => tx.query(expireAt, [104, '10 minutes 10 seconds']));
  await t.app.tx((tx) => tx.query(setEpochState, [104, 'expired']));
  expect(await refusalOf(requestClaim(player, open))).toEqual(expired);
  await t.app.tx((tx) => tx.query(setEpochState, [104, 'settled']));
  expect(await refusalOf(requestClaim(player, open))).toEqual([409, 'epoch 104 is settled off-chain']);
  expect(await storedClaims(t, 104)).toEqual([]);
  await t.app.tx((tx) => tx.query(setEpochState, [104, 'committed']));
  expect((await requestClaim(player, open)).status).toBe(200);
});

test('fifty concurrent requests create one claim and one transaction', async () => {
  const epoch = await openEpoch(t, 105, [[player.wallet, 13n], ...others(3)]);
  const before = await rewardOf(t, player.wallet);
  const answers = await Promise.all(Array.from({ length: 50 }, () => requestClaim(player, epoch)));
  const { id, signature } = await untilClaim(t, 105, 0, 'claimed');
  // Requests that arrive after the claim is finalized get 409.
  const late = answers.filter(({ status }) => status === 409);
  const receipts = await Promise.all(answers.filter(({ status }) => status === 200).map(receiptOf));
  expect(receipts.length + late.length).toBe(50);
  expect(receipts.length).toBeGreaterThan(0);
  for (const receipt of receipts) expect(receipt).toMatchObject({ claimId: id, signature });
  for (const answer of late) expect((await jsonOf(answer, Refusal)).error).toContain(signature);
  expect(await t.app.db.query(countAttempts, [[id]])).toEqual([{ n: 1 }]);
  expect(await rewardOf(t, player.wallet)).toBe(before + 13n);
});

test('a request whose claim another process inserts at the same time returns that claim', async () => {
  const epoch = await openEpoch(t, 109, [[player.wallet, 13n], ...others(3)]);
  const id = newId();
  const proof = Buffer.from(leafOf(epoch, player.wallet).proof.join(''), 'hex');
  const commit = await holdTransaction(t.app, (tx) => insertClaims(tx, [{ id, epoch: 109, index: 0, wallet: player.wallet, amount: '13', proof }]));
  const answer = requestClaim(player, epoch);
  await untilBlocked(t.app, answer);
  await commit();
  expect(await receiptOf(await answer)).toMatchObject({ claimId: id, epoch: 109 });
  expect((await storedClaims(t, 109)).map((claim) => claim.id)).toEqual([id]);
});

test('a claim that is not confirmed within the wait returns 202 with its location, and completes later', async () => {
  const epoch = await openEpoch(t, 106, [[player.wallet, 17n], ...others(3)]);
  await t.app.tx((tx) => pause(tx, 'claims', 'test'));
  const first = await requestClaim(player, epoch, { Prefer: 'wait=0' });
  expect(first.status).toBe(202);
  const body = await receiptOf(first);
  expect(first.headers.get('location')).toBe(`/api/rewards/claims/${body.claimId}`);
  expect(body).toEqual({ claimId: body.claimId, epoch: 106, wallet: player.wallet, amount: '17', signature: null, status: 'queued' });
  const again = await requestClaim(player, epoch, { Prefer: 'respond-async, wait=0' });
  expect([again.status, again.headers.get('location'), await again.json()]).toEqual([202, first.headers.get('location'), body]);

  const claimable = async () => {
    const rewards = await jsonOf(send(t, `/api/rewards/wallet/${player.wallet}/claimable`), z.array(ClaimableView));
    return rewards.find((reward) => reward.epoch === 106)?.status;
  };
  expect(await claimable()).toBe('claimable');

  const waiting = requestClaim(player, epoch);
  await t.app.tx((tx) => resume(tx, 'claims'));
  await t.app.tx((tx) => tx.query(hurry));
  expect((await waiting).status).toBe(200);
  expect(await claimable()).toBeUndefined();
  expect(await (await waiting).json()).toMatchObject({ claimId: body.claimId });
});
const hurry = statement('test_hurry', `update chain_transactions set next_at = app_now() where state = 'queued'`);

test('a claim request repeated with its Idempotency-Key returns the claim of the first request', async () => {
  const epoch = await openEpoch(t, 107, [[player.wallet, 19n], ...others(3)]);
  const key = { 'Idempotency-Key': crypto.randomUUID() };
  const [first, second] = await Promise.all([requestClaim(player, epoch, key), requestClaim(player, epoch, key)]);
  expect([first?.status, second?.status]).toEqual([200, 200]);
  const { claimId, signature } = await receiptOf(first);
  expect(await second.json()).toMatchObject({ claimId, signature });
  await untilClaim(t, 107, 0, 'claimed');
  const later = await requestClaim(player, epoch, key);
  expect([later.status, await later.json()]).toEqual([200, expect.objectContaining({ claimId, signature, status: 'claimed' })]);
  const other = player.fetch('/api/rewards/claim', { json: { epoch: 106, proof: [] }, headers: key });
  expect(await refusalOf(other)).toEqual([409, 'Idempotency-Key was used before with another body']);
});

test('GET of an unknown claim id returns 404', async () => {
  expect((await send(t, `/api/rewards/claims/${crypto.randomUUID()}`)).status).toBe(404);
  expect((await send(t, '/api/rewards/claims/nonsense')).status).toBe(404);
});

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { statement } from '#platform/db/sql.ts';
import { pause, resume } from '#platform/solana/submission/index.ts';
import { openAction, requestFrom, requestTransaction, signAndSend } from '#test/support/solana/actions.ts';
import {
  insertComputedEpoch,
  openEpoch,
  openTokenAccount,
  type RewardsTest,
  rewardOf,
  startRewardsTest,
  untilClaim,
} from '#test/support/solana/claims.ts';
import { createWallet, type SignedIn, signIn } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRewardsTest();
});
afterAll(() => t.close());

const others = (n: number) => Array.from({ length: n }, () => [createWallet().address, 5n] as const);
const setEpoch = statement('test_set_epoch_state', `update epochs set state = $2, expires_at = app_now() + $3::interval where epoch = $1`);
const post = async (epoch: number | string, account: string) => {
  const { status, body } = await requestTransaction(t.url, `/actions/claim/${epoch}`, account);
  return [status, body.message];
};

test('a wallet without a session claims a reward through actions.json, GET and POST, pays the fee and the rent of its token account, and the service finds the claim', async () => {
  const signer = await t.chain.fundWallet();
  const wallet = signer.publicKey.toBase58();
  await openEpoch(t, 100, [...others(2), [wallet, 2_500_000n], ...others(3)]);
  const { path, status, body, headers } = await openAction(t.url, '/actions/claim/100');
  expect([path, status, headers.get('x-action-version'), headers.get('content-type')]).toEqual([
    '/actions/claim/100',
    200,
    '2.4',
    'application/json; charset=utf-8',
  ]);
  expect(headers.get('x-blockchain-ids')).toMatch(/^solana:[\w-]{1,32}$/);
  expect(body).toMatchObject({ type: 'action', title: 'Rewards of 11 April 1970', label: 'Claim reward', disabled: false });
  expect(body.error).toBeUndefined();
  expect(body.icon).toBe('http://coinop.test/actions/icon.svg');
  const icon = await fetch(`${t.url}/actions/icon.svg`);
  expect([icon.status, icon.headers.get('content-type'), (await icon.text()).startsWith('<svg ')]).toEqual([200, 'image/svg+xml', true]);

  const href = body.links?.actions[0]?.href ?? '';
  const answer = await requestTransaction(t.url, href, wallet);
  expect([answer.status, answer.body.message]).toEqual([
    200,
    expect.stringMatching(/^You claim 2\.5 tokens\. Opening accounts costs 0\.00\d+ SOL\.$/),
  ]);
  expect(answer.body.links?.next).toMatchObject({ type: 'inline', action: { type: 'completed', description: 'You received 2.5 tokens.' } });
  const house = await t.chain.connection.getBalance(t.chain.keys.feePayer.publicKey);
  const signature = await signAndSend(t.chain.connection, answer.body, signer);
  expect(await untilClaim(t, 100, 2, 'claimed')).toMatchObject({ signature });
  expect(await rewardOf(t, wallet)).toBe(2_500_000n);
  expect(await t.chain.connection.getBalance(t.chain.keys.feePayer.publicKey)).toBe(house);
  expect(await post(100, wallet)).toEqual([409, `epoch 100 is claimed already, by transaction ${signature}`]);
});

test('an action that cannot be done is refused with one sentence in message', async () => {
  const wallet = createWallet().address;
  expect(await post(99_999, wallet)).toEqual([404, 'epoch 99999 does not exist']);
  expect(await post('abc', wallet)).toEqual([404, expect.stringContaining('epoch')]);
  expect(await post(100, wallet)).toEqual([404, 'epoch 100 has no reward for this wallet']);
  const bad = await requestFrom<{ message: string }>(`${t.url}/actions/claim/100`, { account: 'nobody' });
  expect([bad.status, Object.keys(bad.body), bad.body.message]).toEqual([400, ['message'], expect.stringContaining('account')]);
  const missing = await requestFrom<{ message: string }>(`${t.url}/actions/claim/99999`);
  expect([missing.status, missing.body]).toEqual([404, { message: 'epoch 99999 does not exist' }]);

  await t.app.tx((tx) => pause(tx, 'roots', 'test'));
  await insertComputedEpoch(t.app, 101, [[wallet, 7n], ...others(1)]);
  expect(await post(101, wallet)).toEqual([409, 'epoch 101 is not committed to the chain yet']);
  const early = await openAction(t.url, '/actions/claim/101');
  expect(early.body).toMatchObject({ disabled: true, error: { message: 'epoch 101 is not committed to the chain yet' } });
  await t.app.tx((tx) => resume(tx, 'roots'));

  await openEpoch(t, 102, [[wallet, 7n], ...others(1)]);
  await t.app.tx((tx) => tx.query(setEpoch, [102, 'committed', '9 minutes']));
  expect(await post(102, wallet)).toEqual([409, 'epoch 102 is expired; its rewards cannot be claimed any more']);
  await t.app.tx((tx) => tx.query(setEpoch, [102, 'settled', '90 days']));
  expect(await post(102, wallet)).toEqual([409, 'epoch 102 is settled off-chain']);
});

test('two transactions for one reward pay it once', async () => {
  const signer = await t.chain.fundWallet();
  const wallet = signer.publicKey.toBase58();
  await openTokenAccount(t, wallet);
  await openEpoch(t, 103, [[wallet, 7n], ...others(1)]);
  const first = await requestTransaction(t.url, '/actions/claim/103', wallet);
  const second = await requestTransaction(t.url, '/actions/claim/103', wallet);
  await signAndSend(t.chain.connection, first.body, signer);
  await signAndSend(t.chain.connection, second.body, signer).catch(() => 'the simulation refused it');
  await untilClaim(t, 103, 0, 'claimed');
  expect(await rewardOf(t, wallet)).toBe(7n);
});

test('the requests of one account are limited, also for accounts of a page of another origin', async () => {
  const [wallet, other] = [createWallet().address, createWallet().address];
  await openEpoch(t, 104, [
    [wallet, 7n],
    [other, 8n],
  ]);
  for (let i = 0; i < 20; i++) expect((await post(104, wallet))[0]).toBe(200);
  expect(await post(104, wallet)).toEqual([429, expect.stringContaining('at most 20 requests')]);
  expect((await post(104, other))[0]).toBe(200);
});

test('other routes keep their origin check and their errors', async () => {
  const player: SignedIn = await signIn(t, createWallet());
  const refused = await player.fetch('/api/rewards/claim', { json: {}, headers: { Origin: 'https://wallet.example' } });
  expect([refused.status, await refused.json()]).toEqual([403, { error: 'Origin must be the origin of this service or an allowed origin' }]);
  expect(refused.headers.get('access-control-allow-origin')).toBeNull();
  const unknown = await fetch(`${t.url}/actions/nothing`);
  expect([unknown.status, await unknown.json()]).toEqual([404, { error: 'no such resource' }]);
  const put = await fetch(`${t.url}/actions/claim/100`, { method: 'PUT' });
  expect([put.status, await put.json()]).toEqual([405, { message: 'the method must be GET or POST' }]);
});

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { linkAccount } from '#areas/social';
import { checkNames } from '#areas/wallets';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { freshName, keyOf, sns, someone } from '#test/support/solana/names.ts';
import { type NamesChain, startNamesChain } from '#test/support/solana/names-chain.ts';
import { createWallet, type SignedIn, signIn } from '#test/support/wallet.ts';

let chain: NamesChain;
let t: TestApp;
beforeAll(async () => {
  chain = await startNamesChain();
  t = await startTestApp({ workers: false, env: chain.env });
});
afterAll(async () => {
  await t.close();
  await chain.close();
});

const choose = async (by: SignedIn, solName: string | null) => {
  const response = await by.fetch('/me/name', { method: 'PUT', json: { solName } });
  return [response.status, await response.json()];
};
const read = async (by: SignedIn) => await (await by.fetch('/me/name')).json();
const HOUR_MS = 3_600_000;
const later = (ms: number) => t.clock.set(new Date(t.clock.now().getTime() + ms));

test('PUT /me/name takes only a .sol name that resolves to the caller’s wallet, and null removes it', async () => {
  const wallet = createWallet();
  const player = await signIn(t, wallet);
  const [own, foreign] = [freshName(), freshName()];
  await chain.write(sns(own, keyOf(wallet)), sns(foreign, someone()));
  expect(await read(player)).toEqual({ name: null, solName: null });
  expect(await choose(player, `${own.toUpperCase()}.sol`)).toEqual([200, { name: `${own}.sol`, solName: `${own}.sol` }]);
  expect(await choose(player, `${foreign}.sol`)).toMatchObject([409, { error: expect.any(String) }]);
  expect((await choose(player, `${freshName()}.sol`))[0]).toBe(404);
  expect((await choose(player, `${own}.sns`))[0]).toBe(400);
  expect((await choose(player, own))[0]).toBe(400);
  expect(await read(player)).toEqual({ name: `${own}.sol`, solName: `${own}.sol` });
  const handle = { platform: 'x', accountId: '1', handle: 'night_owl', wallet: player.wallet };
  await t.app.tx((tx) => linkAccount(tx, handle));
  expect(await read(player)).toEqual({ name: 'night_owl', solName: `${own}.sol` });
  expect(await choose(player, null)).toEqual([200, { name: 'night_owl', solName: null }]);
});

test('a name that is sold is forgotten after the next check, and a name that is kept stays', async () => {
  const [seller, keeper] = [createWallet(), createWallet()];
  const [sellerSession, keeperSession] = [await signIn(t, seller), await signIn(t, keeper)];
  const [sold, kept] = [freshName(), freshName()];
  await chain.write(sns(sold, keyOf(seller)), sns(kept, keyOf(keeper)));
  await choose(sellerSession, `${sold}.sol`);
  await choose(keeperSession, `${kept}.sol`);
  await chain.write(sns(sold, someone()));
  await checkNames(t.app);
  expect(await read(sellerSession)).toMatchObject({ solName: `${sold}.sol` });
  await later(2 * HOUR_MS);
  await checkNames(t.app);
  expect(await read(sellerSession)).toEqual({ name: null, solName: null });
  // A name without a check for two days is not shown, so the next expectation proves that the check was stored.
  await later(47 * HOUR_MS);
  expect(await read(keeperSession)).toEqual({ name: `${kept}.sol`, solName: `${kept}.sol` });
  await later(2 * HOUR_MS);
  expect(await read(keeperSession)).toEqual({ name: null, solName: `${kept}.sol` });
});

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { DAY, insertClosedDay, randomWallet, setRules, trigger } from '#test/support/areas/epochs.ts';
import { asAdmin } from '#test/support/areas/rounds.ts';
import { rewardOf, untilEpoch } from '#test/support/solana/claims.ts';
import { createWallet, send, signIn } from '#test/support/wallet.ts';
import { type ArcadeTest, shown, startArcade, type Visitor } from '#test/support/web/arcade.ts';

let t: ArcadeTest;
let player: Visitor;
let watcher: Visitor;
beforeAll(async () => {
  t = await startArcade();
  [player, watcher] = await Promise.all([t.openVisitor(), t.openVisitor({ colorScheme: 'dark' })]);
}, 120_000);
afterAll(() => t?.close());

/** Plays Block Cascade by keyboard: drops some pieces at different places and ends the play. */
async function play(tab: Page, drops: number): Promise<void> {
  await tab.getByRole('button', { name: 'Play', exact: true }).click();
  await tab.getByRole('application', { name: /Board/ }).waitFor();
  for (let i = 0; i < drops; i++) {
    for (let side = 0; side < 4; side++) await tab.keyboard.press(i % 2 === 0 ? 'ArrowLeft' : 'ArrowRight', { delay: 20 });
    await tab.keyboard.press('Space', { delay: 30 });
  }
  await player.shoot('play-board');
  await tab.getByRole('button', { name: 'End the play' }).click();
}

const walletOf = async ({ tab }: Visitor): Promise<string> => (await tab.locator('.session .own').getAttribute('title')) ?? '';
const lineOf = (tab: Page, wallet: string) => tab.locator(`main li:has([title="${wallet}"])`).first();

test('a visitor signs in with a wallet of the browser, plays, and another browser sees the board move', async () => {
  await player.open('/games/block-cascade');
  await watcher.open('/boards/block-cascade');
  await player.signIn();
  const wallet = await walletOf(player);
  await play(player.tab, 8);
  await player.tab.getByRole('heading', { name: 'Your score is accepted' }).waitFor({ timeout: 20_000 });
  await player.shoot('play-receipt');
  await lineOf(watcher.tab, wallet).waitFor();
  expect(await player.tab.getByText('Personal best').count()).toBe(1);

  await player.tab.getByRole('link', { name: 'Check it in this browser' }).click();
  await player.tab.getByRole('heading', { name: 'True', exact: true }).waitFor({ timeout: 20_000 });
  expect(await player.tab.locator('.words li').allTextContents()).toContain(`that the wallet ${wallet} played`);
  await player.shoot('check-score');
  expect([player.faults, watcher.faults]).toEqual([[], []]);
}, 60_000);

test('a visitor enters the round, watches the draw, and checks it with their own browser', async () => {
  const settings = { title: 'First draw', picks: 3, range: 5, durationSec: 8, prizes: [{ amount: '5000000', mint: 'usdc' }] };
  const { id } = (await (await send(t, '/chat/round', { json: settings, headers: asAdmin })).json()) as { id: string };
  await send(t, `/chat/round/${id}/start`, { method: 'POST', headers: asAdmin });
  const { tab } = player;
  await player.open('/');
  await tab.getByRole('button', { name: 'Enter with lucky numbers' }).click();
  await tab
    .getByText(/You are in with/)
    .first()
    .waitFor();
  await player.shoot('home-entered');
  await tab.getByRole('heading', { name: /Last draw: First draw/ }).waitFor({ timeout: 45_000 });
  await player.shoot('home-drawn');

  await tab.getByRole('link', { name: /Check this draw/ }).click();
  await shown(tab);
  await tab.getByRole('button', { name: 'Check', exact: true }).click();
  await tab.locator('.verdict-title').waitFor({ timeout: 30_000 });
  await player.shoot('check-round');
  expect(await tab.locator('.verdict-title').textContent()).toMatch(/under development rules/);
  expect(await tab.locator('.step.bad, .step.unknown').count()).toBe(0);
  expect(await tab.locator('.step-name').allTextContents()).toEqual(expect.arrayContaining([expect.stringContaining('receipts')]));
  expect(player.faults).toEqual([]);
}, 90_000);

test('a visitor claims a reward, sees it become final, and checks its epoch', async () => {
  const wallet = await walletOf(player);
  await setRules(t, { pool: '5000000', cap: null, dust: '0', automatic: false });
  const points = [wallet, randomWallet(), randomWallet()].map((one, i) => ({ wallet: one, points: i === 0 ? 50 : 25 }));
  await insertClosedDay(t.app, DAY, points);
  expect((await trigger(t, DAY)).status).toBe(201);
  await untilEpoch(t, DAY, 'committed');
  const { tab } = player;
  await player.open('/rewards');
  await tab.getByRole('button', { name: /^Claim/ }).click();
  await tab.locator('.tag', { hasText: 'final' }).waitFor({ timeout: 30_000 });
  await player.shoot('rewards-claimed');
  expect(await rewardOf(t, wallet)).toBe(2_500_000n);

  await player.open(`/check/epoch/${DAY}`);
  await tab.getByRole('button', { name: 'Check', exact: true }).click();
  await tab.locator('.verdict-title').waitFor({ timeout: 30_000 });
  await player.shoot('check-epoch');
  expect(await tab.locator('.verdict-title').textContent()).toBe('True');
  expect(await tab.locator('.words li').allTextContents()).toContain('that each wallet earned its points from the sources in the points file');
  expect(player.faults).toEqual([]);
}, 60_000);

test('a page that loses its connection says so, connects again by itself, and shows what happened meanwhile', async () => {
  const { tab } = watcher;
  await watcher.open('/boards/token-pusher');
  t.connection.cut();
  await tab.getByText('The connection is lost.').waitFor({ timeout: 20_000 });
  await watcher.shoot('boards-lost');
  const other = await signIn(t, createWallet());
  expect((await other.fetch('/arcade/score', { json: { gameId: 'token-pusher', score: 420 } })).status).toBe(200);
  expect(await lineOf(tab, other.wallet).count()).toBe(0);
  t.connection.resume();
  await lineOf(tab, other.wallet).waitFor({ timeout: 40_000 });
  await expect(tab.getByText('The connection is lost.').count()).resolves.toBe(0);
  // Chromium reports each request that found no connection.
  expect(watcher.faults.filter((fault) => !/net::ERR_/.test(fault))).toEqual([]);
}, 90_000);

test('a score whose answer is lost is sent again until the arcade confirms it', async () => {
  const { tab } = player;
  await player.open('/games/block-cascade');
  await tab.route('**/arcade/score', async (route) => {
    await route.fetch();
    await route.abort('connectionreset');
  });
  await play(tab, 3);
  await tab.getByText('The arcade cannot be reached.').waitFor({ timeout: 20_000 });
  await tab.unroute('**/arcade/score');
  tab.on('dialog', (dialog) => dialog.accept());
  await tab.reload();
  await tab.getByRole('heading', { name: 'Your score is accepted' }).waitFor({ timeout: 20_000 });
  expect(player.faults.filter((fault) => !/net::ERR_/.test(fault))).toEqual([]);
}, 60_000);

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { getRound, postFinalize } from '#areas/lottery/legacy/routes.ts';
import { sql } from '#test/support/areas/boards.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { startRoundsTest, untilState } from '#test/support/areas/rounds.ts';
import { balanceOf, inMs, newPayer, openRound, PURSE, payFor, requestTicket } from '#test/support/areas/tickets.ts';
import { clientOf } from '#test/support/http/client.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { type SignedIn, signIn } from '#test/support/wallet.ts';

let t: RewardsTest;
let player: SignedIn;
beforeAll(async () => {
  t = await startRoundsTest();
  player = await signIn(t);
});
afterAll(() => t.close());

test('a round is drawn after its creator has closed it, and the winner gets the sum of all ticket prices', async () => {
  const creator = await signIn(t);
  const round = await openRound(t, creator);
  const payers = await Promise.all([1, 2, 3].map(() => newPayer(t)));
  for (const payer of payers) expect((await requestTicket(payer, round, await payFor(t, payer, round))).status).toBe(201);
  const params = { id: round.id };
  expect((await clientOf(t, creator).ok(postFinalize, { params })).status).toBe(202);
  await untilState(t, round.id, 'finalized', 60_000);

  const drawn = await clientOf(t, player).ok(postFinalize, { params });
  if (drawn.status !== 200) throw new Error(`finalize answered ${drawn.status}`);
  const { winningTicket, winner, prizePool, payout } = drawn.body;
  const won = payers.find(({ wallet }) => wallet === winner);
  expect(prizePool).toBe('3000');
  expect(payout).toMatchObject({ paymentId: expect.any(String) });
  const [entry] = await sql<{ wallet: string }>(t.app, 'select wallet from entries where round = $1 and index = $2', [round.id, winningTicket]);
  expect(entry?.wallet).toBe(winner);
  expect((await clientOf(t).ok(getRound, { params })).body).toMatchObject({
    status: 'finalized',
    entries: 3,
    prizePool: '3000',
    winningTicket,
    winner,
  });
  await retryUntilPass(async () => {
    expect((await clientOf(t, player).ok(postFinalize, { params })).body).toMatchObject({
      payout: { status: 'completed', signature: expect.any(String) },
    });
  }, 60_000);
  expect(await balanceOf(t, won?.wallet ?? '')).toBe(PURSE - 1_000n + 3_000n);
});

test('a free round is drawn without a request after its closing time and has a winner but no prize', async () => {
  const round = await openRound(t, player, { ticketPrice: '0', closesAt: inMs(t, 2_000) });
  expect((await player.fetch(`/round/${round.id}/ticket`, { json: {} })).status).toBe(201);
  await untilState(t, round.id, 'finalized', 60_000);
  const drawn = await clientOf(t, player).ok(postFinalize, { params: { id: round.id } });
  expect([drawn.status, drawn.body]).toEqual([
    200,
    { status: 'finalized', voidReason: null, winningTicket: 0, winner: player.wallet, prizePool: '0', payout: null },
  ]);
});

test('a round that its creator closes early has the time of the request as its closing time', async () => {
  const creator = await signIn(t);
  const round = await openRound(t, creator, { closesAt: inMs(t, 3_600_000) });
  const params = { id: round.id };
  const before = t.clock.now().getTime();
  await clientOf(t, creator).call(postFinalize, { params });
  const { closesAt, opensAt } = (await clientOf(t).ok(getRound, { params })).body;
  expect(Date.parse(closesAt ?? '')).toBeGreaterThanOrEqual(before - 1_000);
  expect(Date.parse(closesAt ?? '')).toBeLessThanOrEqual(t.clock.now().getTime() + 1_000);
  expect(Date.parse(closesAt ?? '')).toBeGreaterThanOrEqual(Date.parse(opensAt ?? ''));
});

test('any wallet can close a round after its closing time, and a round without tickets becomes void', async () => {
  const creator = await signIn(t);
  const round = await openRound(t, creator, { closesAt: inMs(t, 60_000) });
  const params = { id: round.id };
  expect((await clientOf(t, player).call(postFinalize, { params })).status).toBe(403);
  const result = { status: 'void', voidReason: 'no-entries', winningTicket: null, winner: null, prizePool: '0', payout: null };
  for (const by of [creator, player]) expect(await clientOf(t, by).call(postFinalize, { params })).toMatchObject({ status: 200, body: result });
  expect((await clientOf(t).ok(getRound, { params })).body).toMatchObject({ status: 'void', voidReason: 'no-entries' });

  const short = await openRound(t, creator, { closesAt: inMs(t, 500) });
  await retryUntilPass(async () => {
    expect(await clientOf(t, player).call(postFinalize, { params: { id: short.id } })).toMatchObject({ status: 200, body: result });
  });
});

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { buildTicketPurchase } from '#areas/lottery';
import type { HttpError } from '#lib/errors.ts';
import { memo } from '#platform/solana/tokens.ts';
import { sql } from '#test/support/areas/boards.ts';
import { startRoundsTest } from '#test/support/areas/rounds.ts';
import { newPayer, openRound, PURSE, pay } from '#test/support/areas/tickets.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { type SignedIn, signIn } from '#test/support/wallet.ts';

let t: RewardsTest;
let creator: SignedIn;
beforeAll(async () => {
  t = await startRoundsTest({ workers: false });
  creator = await signIn(t);
});
afterAll(() => t?.close());

const build = (round: { id: string }, by: SignedIn) => buildTicketPurchase(t.app, round.id, by.wallet);
const refusal = (round: { id: string }, by: SignedIn) =>
  build(round, by).then(
    () => 'built',
    ({ status, message }: HttpError) => [status, message],
  );

test('a wallet buys a ticket with a transfer of the price to the treasury and a memo with the id of the round', async () => {
  const round = await openRound(t, creator, { ticketPrice: String(PURSE) });
  const payer = await newPayer(t);
  expect(await build(round, payer)).toEqual([pay(t, payer.keys, PURSE), memo(round.id)]);
});

test('no transaction is built for a wallet that does not hold the price', async () => {
  const round = await openRound(t, creator, { ticketPrice: String(PURSE + 1n) });
  const holds = (amount: bigint) => [409, expect.stringMatching(new RegExp(` holds ${amount} base units, but a ticket costs ${PURSE + 1n}$`))];
  expect(await refusal(round, await newPayer(t))).toEqual(holds(PURSE));
  expect(await refusal(round, creator)).toEqual(holds(0n));
});

test('no transaction is built for a wallet that does not meet the entry rules of the round', async () => {
  const payer = await newPayer(t);
  const ruled = await openRound(t, creator, { entryRules: { minAcceptedScores: 1 } });
  expect(await refusal(ruled, payer)).toEqual([403, 'minAcceptedScores: the wallet must have at least 1 accepted scores']);
  const needs = (amount: bigint) => openRound(t, creator, { entryRules: { minTokenBalance: { amount: String(amount), mint: 'reward' } } });
  expect(await refusal(await needs(PURSE), payer)).toBe('built');
  expect(await refusal(await needs(PURSE + 1n), payer)).toEqual([403, expect.stringMatching(/^minTokenBalance: /)]);
});

test('a wallet that excluded itself is refused without the reason, because anybody can ask for any wallet', async () => {
  const [round, payer] = [await openRound(t, creator), await newPayer(t)];
  await sql(t.app, `insert into exclusions (wallet, since, until) values ($1, app_now(), app_now() + interval '1 day')`, [payer.wallet]);
  expect(await refusal(round, payer)).toEqual([403, 'restriction: the wallet may not buy tickets']);
});

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { z } from 'zod';
import { getTicket, postTicket } from '#areas/lottery/legacy/routes.ts';
import type { EntryRuleTerms } from '#areas/lottery/terms.ts';
import { linkAccount } from '#areas/social';
import { NO_ENTRY_RULES, parametersHash, RoundParameters } from '#lib/draw/parameters.ts';
import { sql } from '#test/support/areas/boards.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { startRoundsTest } from '#test/support/areas/rounds.ts';
import {
  balanceOf,
  inMs,
  newPayer,
  openRound,
  PURSE,
  payFor,
  randomSignature,
  refundsOf,
  requestTicket,
  storedEntries,
  storedTickets,
  untilRefunded,
} from '#test/support/areas/tickets.ts';
import { NEW_ID } from '#test/support/database.ts';
import { clientOf } from '#test/support/http/client.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { type SignedIn, signIn } from '#test/support/wallet.ts';

let t: RewardsTest;
let creator: SignedIn;
beforeAll(async () => {
  t = await startRoundsTest();
  creator = await signIn(t);
});
afterAll(() => t?.close());

const open = (entryRules: z.input<typeof EntryRuleTerms>, ticketPrice = '0') => openRound(t, creator, { ticketPrice, entryRules });

/** Requests a ticket without a payment. @returns the status and the error of the answer */
async function ask(by: Pick<SignedIn, 'fetch'>, round: { id: string }): Promise<[number, string]> {
  const response = await by.fetch(`/round/${round.id}/ticket`, { json: {} });
  const body = (await response.json()) as { error?: string };
  return [response.status, body.error ?? ''];
}

const addScore = (wallet: string, status = 'accepted') =>
  sql(
    t.app,
    `insert into scores (id, wallet, game_id, game_version, body_hash, score, normalized, points, personal_best, status, mode, day, at)
     values (${NEW_ID}, $1, 'alpha', 1, '', 1, 1, 0, false, $2, 'regular', app_day(), app_now())`,
    [wallet, status],
  );

test('the entry rules of a legacy round are part of its parameters and of their hash', async () => {
  const signedInBefore = '2026-11-01T10:00:00.000Z';
  const terms = { minTokenBalance: { amount: '500', mint: 'reward' }, minAcceptedScores: 3, linkedAccount: 'x', signedInBefore } as const;
  const round = await open(terms);
  expect(round.entryRules).toEqual(terms);
  const mint = t.chain.keys.rewardMint.publicKey.toBase58();
  expect(round.parameters?.entryRules).toEqual({ ...terms, minTokenBalance: { amount: '500', mint } });
  expect(round.parametersHash).toBe(parametersHash(RoundParameters.parse(round.parameters)));

  const free = await openRound(t, await signIn(t), { ticketPrice: '0' });
  expect(free.entryRules).toEqual({});
  expect(free.parameters?.entryRules).toEqual(NO_ENTRY_RULES);
});

test('an unknown entry rule, or a value out of range, is refused with 400', async () => {
  const refuse = async (entryRules: unknown) => (await creator.fetch('/round', { json: { ticketPrice: '0', entryRules } })).status;
  expect(await refuse({ minScores: 1 })).toBe(400);
  expect(await refuse({ minAcceptedScores: 0 })).toBe(400);
  expect(await refuse({ linkedAccount: 'X Y' })).toBe(400);
  expect(await refuse({ minTokenBalance: { amount: '0', mint: 'reward' } })).toBe(400);
});

test('a free round with a minimum balance gives a ticket to a wallet that holds it, and refuses other wallets with the rule', async () => {
  const round = await open({ minTokenBalance: { amount: String(PURSE), mint: 'reward' } });
  const rich = await newPayer(t);
  const poor = await signIn(t);
  expect(await ask(rich, round)).toEqual([201, '']);
  const mint = t.chain.keys.rewardMint.publicKey.toBase58();
  expect(await ask(poor, round)).toEqual([403, `minTokenBalance: the wallet must hold at least ${PURSE} base units of ${mint}`]);
  const later = await signIn(t);
  const fault = await t.chain.control.fault({ kind: 'fail', methods: ['getTokenAccountsByOwner'] });
  expect((await ask(later, round))[0]).toBe(503);
  await fault.clear();
  expect((await storedEntries(t, round)).map(({ wallet }) => wallet)).toEqual([rich.wallet]);
  expect(await storedTickets(t, round)).toHaveLength(1);
});

test('a free round with a minimum of accepted scores counts only accepted scores of the wallet', async () => {
  const round = await open({ minAcceptedScores: 2 });
  const player = await signIn(t);
  await addScore(player.wallet);
  await addScore(player.wallet, 'held');
  expect(await ask(player, round)).toEqual([403, 'minAcceptedScores: the wallet must have at least 2 accepted scores']);
  await addScore(player.wallet);
  expect(await ask(player, round)).toEqual([201, '']);
});

test('a free round for linked accounts refuses a wallet that linked its account after the round opened', async () => {
  const [early, late] = [await signIn(t), await signIn(t)];
  const link = ({ wallet }: SignedIn) =>
    t.app.tx((tx) => linkAccount(tx, { platform: 'x', accountId: `account of ${wallet}`, handle: 'someone', wallet }));
  await link(early);
  const round = await open({ linkedAccount: 'x' });
  await link(late);
  expect(await ask(early, round)).toEqual([201, '']);
  expect(await ask(late, round)).toEqual([403, 'linkedAccount: the wallet must have linked an account of x before the round opened']);
});

test('a free round for early players refuses a wallet that signed in for the first time later', async () => {
  const early = await signIn(t);
  const signedInBefore = t.clock.now().toISOString();
  const late = await signIn(t);
  const round = await open({ signedInBefore });
  expect(await ask(early, round)).toEqual([201, '']);
  expect(await ask(late, round)).toEqual([403, `signedInBefore: the wallet must have signed in before ${signedInBefore}`]);
});

test('a paid round tells a wallet the rule before the wallet pays, and takes the payment of a wallet that meets the rules', async () => {
  const round = await open({ minAcceptedScores: 1 }, '1000');
  const payer = await newPayer(t);
  expect(await ask(payer, round)).toEqual([403, 'minAcceptedScores: the wallet must have at least 1 accepted scores']);
  await addScore(payer.wallet);
  expect(await ask(payer, round)).toEqual([400, 'transaction is required, because a ticket costs 1000']);
  const { status, body } = await clientOf(t, payer).ok(postTicket, {
    params: { id: round.id },
    body: { transaction: await payFor(t, payer, round) },
  });
  expect([status, body.status]).toEqual([201, 'confirmed']);
});

test('a wallet that paid although it does not meet the rules gets 403 and its payment back, also when it meets the rules later', async () => {
  const round = await open({ minAcceptedScores: 1 }, '1000');
  const payer = await newPayer(t);
  const signature = await payFor(t, payer, round);
  const rule = 'minAcceptedScores: the wallet must have at least 1 accepted scores';
  const answer = await requestTicket(payer, round, signature);
  const location = answer.headers.get('location') ?? '';
  expect([answer.status, await answer.json()]).toMatchObject([403, { error: rule }]);
  // The request decides: a rule that is met while the payment is being checked does not change the answer.
  await addScore(payer.wallet);
  await untilRefunded(t, [signature]);
  expect(await balanceOf(t, payer.wallet)).toBe(PURSE);
  expect((await refundsOf(t, signature)).map(({ amount }) => amount)).toEqual(['1000']);
  const [, ticketId = ''] = /\/tickets\/(.*)$/.exec(location) ?? [];
  const { body } = await clientOf(t).ok(getTicket, { params: { id: round.id, ticketId } });
  expect(body).toMatchObject({ status: 'refused', reason: rule, ticketNumber: null, refunds: [{ amount: '1000', status: 'completed' }] });
  const again = await requestTicket(payer, round, signature);
  expect([again.status, await again.json()]).toMatchObject([403, { error: rule }]);
  expect(await storedEntries(t, round)).toEqual([]);
  // Another payment of the same wallet is accepted, because the wallet meets the rule at this request.
  expect((await requestTicket(payer, round, await payFor(t, payer, round))).status).toBe(201);
});

test('while the balance of a wallet cannot be read, its paid ticket is not stored and the request can be repeated', async () => {
  const round = await open({ minTokenBalance: { amount: '1', mint: 'reward' } }, '1000');
  const payer = await newPayer(t);
  const signature = await payFor(t, payer, round);
  const fault = await t.chain.control.fault({ kind: 'fail', methods: ['getTokenAccountsByOwner'] });
  expect((await requestTicket(payer, round, signature)).status).toBe(503);
  expect(await storedTickets(t, round)).toEqual([]);
  await fault.clear();
  // A failed read of a balance is not repeated for a second.
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  expect((await requestTicket(payer, round, signature)).status).toBe(201);
});

test('the rules are also checked for a payment that is named after the closing time, while the round waits for other tickets', async () => {
  const payer = await newPayer(t);
  const round = await openRound(t, creator, { ticketPrice: '1000', entryRules: { minAcceptedScores: 1 }, closesAt: inMs(t, 3_000) });
  const signature = await payFor(t, payer, round);
  // The ticket of another wallet, whose payment nobody finds, keeps the round open for a while.
  await sql(
    t.app,
    `insert into tickets (id, round, wallet, signature, state, asked_at, next_at)
     values (gen_random_uuid(), $1, $2, $3, 'checking', app_now() - interval '1 second', app_now() + interval '1 minute')`,
    [round.id, payer.wallet, randomSignature()],
  );
  await retryUntilPass(async () => expect(t.clock.now().getTime()).toBeGreaterThan(Date.parse(round.closesAt ?? '')));
  const answer = await requestTicket(payer, round, signature);
  expect([answer.status, await answer.json()]).toMatchObject([403, { error: 'minAcceptedScores: the wallet must have at least 1 accepted scores' }]);
  expect(await storedEntries(t, round)).toEqual([]);
});

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { postFinalize, postTicket } from '#areas/lottery/legacy/routes.ts';
import { Receipt } from '#areas/lottery/receipts.ts';
import { EntryProofView, EntryView, PayoutsOfRound, RootView } from '#areas/lottery/results-schemas.ts';
import { verifyWithMerkletreejs } from '#lib/merkle.ts';
import { sendMessage } from '#test/support/areas/chat.ts';
import { startRound } from '#test/support/areas/draws.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { startRoundsTest, untilState } from '#test/support/areas/rounds.ts';
import { openRound } from '#test/support/areas/tickets.ts';
import { clientOf } from '#test/support/http/client.ts';
import { jsonOf } from '#test/support/http/json.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { trustedOptions, verifyRound } from '#test/support/verify/verify-round.ts';
import { type SignedIn, send, signIn } from '#test/support/wallet.ts';

let t: RewardsTest;
let players: SignedIn[];
beforeAll(async () => {
  t = await startRoundsTest();
  players = await Promise.all(Array.from({ length: 3 }, () => signIn(t)));
});
afterAll(() => t.close());

const hex = (text: string) => Buffer.from(text, 'hex');

test('a chat round is entered, drawn and paid, and its receipts, proofs and bin/verify-round confirm it', async () => {
  const { id } = await startRound(t, { durationSec: 4 });
  const path = `/chat/round/${id}`;
  const entered = await Promise.all(players.map((player) => sendMessage(player, '!enter')));
  expect(entered.map(({ status }) => status)).toEqual([201, 201, 201]);
  expect((await jsonOf(send(t, `${path}/entries`), EntryView.array())).length).toBe(3);
  await untilState(t, id, 'finalized', 60_000);

  const { root } = await jsonOf(send(t, `${path}/entries/root`), RootView);
  for (const { body } of entered) {
    const { entry, leaf, index, wallet, numbers } = Receipt.parse(body.entry?.receipt).body;
    const shown = await jsonOf(send(t, `${path}/entries/${entry}/proof`), EntryProofView);
    expect(shown).toMatchObject({ leaf, index, entry: { wallet, numbers } });
    expect(verifyWithMerkletreejs(hex(root), hex(leaf), shown.proof.map(hex))).toBe(true);
  }
  await retryUntilPass(async () => {
    const { status } = await jsonOf(send(t, `${path}/payouts`), PayoutsOfRound);
    if (status !== 'completed') throw new Error(`the payouts are ${status}`);
  }, 60_000);
  const { code, out, err } = await verifyRound(t.url, id, ...trustedOptions(t));
  expect([code, err]).toEqual([0, '']);
  expect(out).toMatch(/2 winners, equal in all responses\n2 of 2 prizes are paid, confirmed on the chain\nround .* is verified: finalized\n$/);
});

test('bin/verify-round verifies a legacy round of tickets', async () => {
  const [creator, ...others] = players;
  if (!creator) throw new Error('there are no players');
  const { id } = await openRound(t, creator, { ticketPrice: '0' });
  for (const player of [creator, ...others]) expect((await clientOf(t, player).ok(postTicket, { params: { id }, body: {} })).status).toBe(201);
  await clientOf(t, creator).ok(postFinalize, { params: { id } });
  await untilState(t, id, 'finalized', 60_000);
  const { code, out, err } = await verifyRound(t.url, id, ...trustedOptions(t));
  expect([code, err]).toEqual([0, '']);
  expect(out).toMatch(/3 entries under the root.*\ndraw recomputed from seed \w+: ticket [012]\n1 winners.*is verified: finalized\n$/s);
});

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { postFinalize, postTicket } from '#areas/lottery/legacy/routes.ts';
import { Receipt } from '#areas/lottery/receipts.ts';
import { EntryProofView, EntryView, PayoutsOfRound, RootView } from '#areas/lottery/results-schemas.ts';
import { verifyWithMerkletreejs } from '#lib/merkle.ts';
import { say } from '#test/support/areas/chat.ts';
import { startRound } from '#test/support/areas/draws.ts';
import { eventually } from '#test/support/areas/player.ts';
import { startRoundsTest, untilState } from '#test/support/areas/rounds.ts';
import { openRound } from '#test/support/areas/tickets.ts';
import { clientOf } from '#test/support/http/client.ts';
import { bodyOf } from '#test/support/http/json.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { pinned, verifyRound } from '#test/support/verify/verify-round.ts';
import { type SignedIn, send, signIn } from '#test/support/wallet.ts';

let t: RewardsTest;
let players: SignedIn[];
beforeAll(async () => {
  t = await startRoundsTest();
  players = await Promise.all(Array.from({ length: 3 }, () => signIn(t)));
});
afterAll(() => t.close());

const hex = (text: string) => Buffer.from(text, 'hex');

test('what players entered in chat is proven, drawn and paid, and a stranger finds all of it as it should be', async () => {
  const { id } = await startRound(t, { durationSec: 4 });
  const path = `/chat/round/${id}`;
  const entered = await Promise.all(players.map((player) => say(player, '!enter')));
  expect(entered.map(({ status }) => status)).toEqual([201, 201, 201]);
  expect((await bodyOf(send(t, `${path}/entries`), EntryView.array())).length).toBe(3);
  await untilState(t, id, 'finalized', 60_000);

  const { root } = await bodyOf(send(t, `${path}/entries/root`), RootView);
  for (const { body } of entered) {
    const { entry, leaf, index, wallet, numbers } = Receipt.parse(body.entry?.receipt).body;
    const shown = await bodyOf(send(t, `${path}/entries/${entry}/proof`), EntryProofView);
    expect(shown).toMatchObject({ leaf, index, entry: { wallet, numbers } });
    expect(verifyWithMerkletreejs(hex(root), hex(leaf), shown.proof.map(hex))).toBe(true);
  }
  await eventually(async () => {
    const { status } = await bodyOf(send(t, `${path}/payouts`), PayoutsOfRound);
    if (status !== 'completed') throw new Error(`the payouts are ${status}`);
  }, 60_000);
  const { code, out, err } = await verifyRound(t.url, id, ...pinned(t));
  expect([code, err]).toEqual([0, '']);
  expect(out).toMatch(/2 winners, the same everywhere\n2 of 2 prizes are paid, as the chain says too\nround .* is what it says: finalized\n$/);
});

test('so does one of a round of tickets', async () => {
  const [creator, ...others] = players;
  if (!creator) throw new Error('there is nobody');
  const { id } = await openRound(t, creator, { ticketPrice: '0' });
  for (const player of [creator, ...others]) expect((await clientOf(t, player).ok(postTicket, { params: { id }, body: {} })).status).toBe(201);
  await clientOf(t, creator).ok(postFinalize, { params: { id } });
  await untilState(t, id, 'finalized', 60_000);
  const { code, out, err } = await verifyRound(t.url, id, ...pinned(t));
  expect([code, err]).toEqual([0, '']);
  expect(out).toMatch(/3 entries under the root.*\ndrawn again from the seed \w+: ticket [012]\n1 winners.*is what it says: finalized\n$/s);
});

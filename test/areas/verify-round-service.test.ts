import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { postFinalize, postTicket } from '../../src/areas/lottery/legacy/routes.ts';
import { Receipt } from '../../src/areas/lottery/receipts.ts';
import { EntryProofView, EntryView, PayoutsOfRound, RootView } from '../../src/areas/lottery/results-schema.ts';
import { verifyWithMerkletreejs } from '../../src/lib/merkle.ts';
import { say } from '../support/chat.ts';
import type { RewardsTest } from '../support/claims.ts';
import { clientOf } from '../support/client.ts';
import { startRound } from '../support/draws.ts';
import { bodyOf } from '../support/json.ts';
import { eventually } from '../support/player.ts';
import { startRoundsTest, untilState } from '../support/rounds.ts';
import { openRound } from '../support/tickets.ts';
import { pinned, verifyRound } from '../support/verify-round.ts';
import { type SignedIn, send, signIn } from '../support/wallet.ts';

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

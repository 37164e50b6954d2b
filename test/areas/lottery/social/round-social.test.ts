import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { getCard, getLatest, getPost, getRound } from '#areas/lottery/social/routes.ts';
import { readDecimals } from '#areas/lottery/social/units.ts';
import { shortenToWeight, weightOf } from '#areas/lottery/social/weight.ts';
import { sql } from '#test/support/areas/boards.ts';
import { startRoundsTest } from '#test/support/areas/rounds.ts';
import { AT, DRAWN, DRAWN_TICKET, ROOT, SEED, type ShownRound, showRound, WALLET } from '#test/support/areas/social-rounds.ts';
import { clientOf } from '#test/support/http/client.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { send } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRoundsTest({ workers: false });
});
afterAll(() => t.close());

const shared = async (round: ShownRound) => (await clientOf(t).ok(getRound, { params: { id: await showRound(t.app, round) } })).body;
const posted = async (round: ShownRound) => (await clientOf(t).ok(getPost, { params: { id: await showRound(t.app, round) } })).body;

test('the latest round is 404 without rounds, then the active round, then the round that closed last', async () => {
  const latest = async () => {
    const { status, body } = await clientOf(t).call(getLatest);
    return status === 200 ? body.id : status;
  };
  expect(await latest()).toBe(404);
  await showRound(t.app, DRAWN_TICKET);
  await showRound(t.app, { state: 'void' });
  expect(await latest()).toBe(404);
  const active = await showRound(t.app, { state: 'active' });
  expect(await latest()).toBe(active);
  const drawn = await showRound(t.app, DRAWN);
  await showRound(t.app, { ...DRAWN, endedAt: AT.closes });
  expect(await latest()).toBe(drawn);
  await sql(t.app, `update rounds set state = 'closing', closed_at = app_now(), closed = '{}' where id = $1`, [active]);
});

test('the summary of a drawn round has numbers, first winners, prizes as text, links and Open Graph values', async () => {
  const round = await shared(DRAWN);
  const at = (path: string) => `http://coinop.test${path}`;
  expect(round).toMatchObject({
    ...{ kind: 'chat', title: 'Friday night draw', status: 'finalized', numbers: [3, 7, 12, 30, 41], winningTicket: null, entries: 1_234 },
    text: 'Friday night draw is drawn: 3, 7, 12, 30, 41. 9xQe…VFin wins 25 USDC, and 2 more wallets win.',
    prize: '35 USDC + 5,000 tokens',
    winnersTotal: 3,
    verify: { command: `bin/verify-round http://coinop.test ${round.id}`, entriesRoot: ROOT, seed: SEED },
    links: {
      round: at(`/chat/round/${round.id}`),
      page: at(`/share/round/${round.id}`),
      summary: at(`/social/round/${round.id}`),
      audit: at(`/chat/round/${round.id}/audit`),
      card: at(`/social/round/${round.id}/card.png`),
    },
    meta: {
      title: 'Friday night draw · Coinop',
      description: round.text,
      image: round.links.card,
      imageWidth: 1_200,
      imageHeight: 630,
      url: round.links.page,
    },
  });
  expect(round.prizes.map(({ text }) => text)).toEqual(['25 USDC', '10 USDC', '5,000 tokens']);
  expect(round.winners[0]).toEqual({ place: 1, wallet: WALLET, prize: { amount: '25000000', mint: 'usdc', text: '25 USDC' } });
});

test('a summary names three winners and counts the others', async () => {
  const winners = Array.from({ length: 10 }, () => ({ wallet: WALLET, amount: '1' }));
  const round = await shared({ ...DRAWN, prizes: winners.map(() => ({ amount: '1', mint: 'usdc' as const })), winners });
  expect([round.winners.length, round.winnersTotal, round.prize]).toEqual([3, 10, '0.00001 USDC']);
  expect(round.text).toContain('0.000001 USDC, and 9 more wallets win.');
});

test('the summary of a legacy round has the winning ticket and the prize pool', async () => {
  expect(await shared(DRAWN_TICKET)).toMatchObject({
    ...{ kind: 'legacy', numbers: null, winningTicket: 41, winnersTotal: 1, prize: '120 USDC' },
    text: expect.stringMatching(/^Ticket round [0-9a-f]{8} is drawn: ticket 41\. 9xQe…VFin wins 120 USDC\.$/),
    links: { audit: expect.stringMatching(/coinop\.test\/round\/.*\/audit$/) },
  });
  const free = await shared({ ...DRAWN_TICKET, ticketPrice: '0', winners: [{ wallet: WALLET, amount: '0' }] });
  expect(free).toMatchObject({ prize: null, prizes: [], text: expect.stringMatching(/VFin wins\.$/) });
});

test.each<[ShownRound, RegExp]>([
  [{ state: 'pending' }, /is coming up for 25 USDC\.$/],
  [{ state: 'active', entries: 1 }, /is open for 25 USDC until 21 Nov 2026, 12:00 UTC: 1 entry so far\.$/],
  [{ state: 'closing' }, /is closed with 1,234 entries, which go on the chain before the draw for 25 USDC\.$/],
  [{ state: 'committed' }, /1,234 entries are committed to on the chain\. The draw for 25 USDC is decided at 21 Nov 2026, 12:03 UTC\.$/],
  [{ ...DRAWN, winners: [] }, /No entry has one of these numbers: the prizes stay in the treasury\.$/],
  [{ state: 'void', entries: 0 }, /is void\. The round had no entries\.$/],
  [{ kind: 'legacy', state: 'active', entries: 0 }, /is open until .*: 0 tickets so far\.$/],
])('a summary describes a round in a sentence: %j', async (round, sentence) => {
  const { text, numbers, winners, voidReason } = await shared(round);
  expect(text).toMatch(sentence);
  if (round.state !== 'finalized') expect([numbers, winners]).toEqual([null, []]);
  expect(voidReason).toBe(round.state === 'void' ? 'no-entries' : null);
  await sql(t.app, `update rounds set state = 'closing', closed_at = app_now(), closed = '{}' where state = 'active'`);
});

test('a post contains the numbers, the winner, the link and the card', async () => {
  const { text, media, url } = await posted(DRAWN);
  expect(text.split('\n')).toEqual([
    '🕹️ Friday night draw',
    '🎱 3, 7, 12, 30, 41. 9xQe…VFin wins 25 USDC, and 2 more wallets win.',
    '🔍 Anybody can draw it again:',
    url,
  ]);
  expect(url).toMatch(/^http:\/\/coinop\.test\/share\/round\//);
  const card = `${url.replace('/share/', '/social/')}/card.png`;
  expect(media).toEqual([{ type: 'image/png', url: card, width: 1_200, height: 630, alt: expect.stringContaining('is drawn') }]);
});

const MOST = '18446744073709551615';
const WORST: ShownRound[] = (['pending', 'active', 'closing', 'committed', 'finalized', 'void'] as const).map((state) => ({
  ...{ state, picks: 20, range: 255, numbers: Array.from({ length: 20 }, (_, i) => 236 + i) },
  prizes: Array.from({ length: 100 }, (_, i) => ({ amount: MOST, mint: i % 2 ? ('usdc' as const) : ('reward' as const) })),
  winners: Array.from({ length: 100 }, () => ({ wallet: WALLET, amount: MOST })),
}));

test.each([
  'x'.repeat(120),
  'word '.repeat(24).trim(),
  '夜'.repeat(120),
  '👩‍👩‍👧‍👦'.repeat(10),
  '🎰'.repeat(60),
  'a.io '.repeat(24).trim(),
  'https://example.com/'.repeat(6),
  'Zalgơ̷̢͍'.repeat(10),
])('a post weighs at most 280 with the title %s', async (title) => {
  for (const round of WORST) {
    const { text, url } = await posted({ ...round, title });
    expect(weightOf(text)).toBeLessThanOrEqual(280);
    expect(text.endsWith(`\n${url}`)).toBe(true);
    expect(text.isWellFormed()).toBe(true);
    await sql(t.app, `update rounds set state = 'closing', closed_at = app_now(), closed = '{}' where state = 'active'`);
  }
});

test('the weight of a text follows the rules of X: links 23, CJK and emoji 2, other characters 1', () => {
  expect(weightOf('hello')).toBe(5);
  expect(weightOf('日本')).toBe(4);
  expect(weightOf('🎰')).toBe(2);
  expect(weightOf('👩‍👩‍👧‍👦')).toBe(2);
  expect(weightOf('🇩🇪')).toBe(2);
  expect(weightOf('…')).toBe(2);
  expect(['\n', '\u10ff\u2000\u200d\u2010\u201f\u2032\u2037', '\u1100\u1fff\u200e\u200f\u2020\u2031\u2038'].map(weightOf)).toEqual([1, 7, 14]);
  expect(weightOf('e\u0301')).toBe(1);
  expect(weightOf('see https://coinop.example/social/round/0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a')).toBe(4 + 23);
  expect(weightOf('a.io b')).toBe(23 + 2);
});

test('a text is shortened between characters, and only if it exceeds the maximum weight', () => {
  expect(shortenToWeight('short', (part) => `[${part}]`)).toBe('[short]');
  expect(shortenToWeight('abcdef', (part) => `[${part}]`, 7)).toBe('[abc…]');
  expect(shortenToWeight('👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦', (part) => part, 5)).toBe('👩‍👩‍👧‍👦…');
});

test('an unknown round and a malformed id are 404', async () => {
  for (const route of [getRound, getPost, getCard]) {
    const unknown = await clientOf(t).call(route, { params: { id: randomUUID() } });
    expect([unknown.status, unknown.body]).toEqual([404, { error: expect.stringContaining('there is no round') }]);
    expect((await send(t, route.path.replace('{id}', 'latest'))).status).toBe(404);
  }
});

test('an unchanged summary is answered with 304', async () => {
  const id = await showRound(t.app, DRAWN);
  const first = await send(t, `/social/round/${id}`);
  const again = await send(t, `/social/round/${id}`, { headers: { 'If-None-Match': first.headers.get('ETag') ?? '' } });
  expect([first.status, again.status]).toEqual([200, 304]);
});

test('while the RPC node does not answer, the decimals of prizes that were read four weeks ago are used', async () => {
  const decimals = await readDecimals(t.app);
  expect(decimals).toEqual({ reward: 6, usdc: 6 });
  await t.clock.set(new Date(Date.now() + 28 * 86_400_000));
  const fault = await t.chain.control.fault({ kind: 'fail', methods: ['getAccountInfo'] });
  expect(await readDecimals(t.app)).toEqual(decimals);
  expect(await fault.hits()).toBeGreaterThan(0);
});

import { randomUUID } from 'node:crypto';
import { inflateSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Resvg } from '@resvg/resvg-js';
import decodeQR from 'qr/decode.js';
import { type Card, cardOf } from '#areas/lottery/social/card/card.ts';
import { cardCache } from '#areas/lottery/social/card/card-cache.ts';
import { renderCards } from '#areas/lottery/social/card/render.ts';
import { drawCard } from '#areas/lottery/social/card/svg.ts';
import { cut, drawableText, RENDERING, widthOf, wrap } from '#areas/lottery/social/card/text.ts';
import { readSharedRound } from '#areas/lottery/social/rounds.ts';
import { getCard } from '#areas/lottery/social/routes.ts';
import { sql } from '#test/support/areas/boards.ts';
import { startRoundsTest } from '#test/support/areas/rounds.ts';
import { DRAWN, DRAWN_TICKET, type ShownRound, showRound } from '#test/support/areas/social-rounds.ts';
import { clientOf } from '#test/support/http/client.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { send } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRoundsTest({ workers: false });
});
afterAll(() => t.close());

const endActive = () => sql(t.app, `update rounds set state = 'closing', closed_at = app_now(), closed = '{}' where state = 'active'`);
const cardAt = (id: string) => send(t, `/social/round/${id}/card.png`);
const modelOf = async (id: string) => cardOf(t.app.config, await readSharedRound(t.app.db, id), { reward: 6, usdc: 6 });

/** Parses a PNG: its chunks, its size, and its number of pixel bytes. */
function readPng(png: Buffer) {
  expect(png.subarray(0, 8).toString('hex')).toBe('89504e470d0a1a0a');
  const chunks = new Map<string, Buffer[]>();
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const name = png.toString('latin1', at + 4, at + 8);
    chunks.set(name, [...(chunks.get(name) ?? []), png.subarray(at + 8, at + 8 + length)]);
    at += length + 12;
  }
  const header = chunks.get('IHDR')?.[0] ?? Buffer.alloc(13);
  expect(chunks.has('IEND')).toBe(true);
  return {
    width: header.readUInt32BE(0),
    height: header.readUInt32BE(4),
    pixels: inflateSync(Buffer.concat(chunks.get('IDAT') ?? [])).length,
  };
}
const WHOLE = { width: 1_200, height: 630, pixels: 630 * (1 + 1_200 * 4) };

test.each<[string, ShownRound]>([
  ['pending', { state: 'pending' }],
  ['active', { state: 'active' }],
  ['closing', { state: 'closing' }],
  ['committed', { state: 'committed' }],
  ['finalized', DRAWN],
  ['finalized without winners', { ...DRAWN, winners: [] }],
  ['finalized with twenty numbers', { ...DRAWN, numbers: Array.from({ length: 20 }, (_, i) => 236 + i) }],
  ['void', { state: 'void', entries: 0 }],
  ['titled in a script that the font does not have', { ...DRAWN, title: '夜の抽選 مرحبا 🎰' }],
  ['titled with markup', { ...DRAWN, title: `</text><script>&amp;"'` }],
  ['titled at length', { ...DRAWN, title: 'W'.repeat(120) }],
  ['legacy, open', { kind: 'legacy', state: 'active', entries: 0 }],
  ['legacy, free', { kind: 'legacy', state: 'committed', ticketPrice: '0' }],
  ['legacy, drawn', DRAWN_TICKET],
  ['legacy, void', { kind: 'legacy', state: 'void', voidReason: 'late-block' }],
])('the card of a round is a PNG of 1200 × 630: %s', async (_name, round) => {
  const response = await cardAt(await showRound(t.app, round));
  expect([response.status, response.headers.get('Content-Type')]).toEqual([200, 'image/png']);
  expect(readPng(Buffer.from(await response.arrayBuffer()))).toEqual(WHOLE);
  await endActive();
});

test('the card of an ended round is immutable for clients, and any other card expires after seconds', async () => {
  const of = async (round: ShownRound) => (await cardAt(await showRound(t.app, round))).headers.get('Cache-Control');
  expect(await of(DRAWN)).toBe('public, max-age=31536000, immutable');
  expect(await of({ state: 'void' })).toBe('public, max-age=31536000, immutable');
  expect(await of({ state: 'active' })).toBe('public, max-age=15');
  await endActive();
});

test('a client that has the card’s ETag gets 304', async () => {
  const id = await showRound(t.app, DRAWN);
  const etag = (await cardAt(id)).headers.get('ETag') ?? '';
  const again = await send(t, `/social/round/${id}/card.png`, { headers: { 'If-None-Match': etag } });
  expect([again.status, again.headers.get('ETag'), await again.text()]).toEqual([304, etag, '']);
});

test('repeated renderings of a round give the same card, byte for byte', async () => {
  const card = await modelOf(await showRound(t.app, DRAWN));
  const [first, twin] = await renderCards([card, card]);
  const [later] = await renderCards([card]);
  expect(first?.equals(twin ?? Buffer.alloc(0))).toBe(true);
  expect(first?.equals(later ?? Buffer.alloc(0))).toBe(true);
});

test('fifty concurrent requests for a card share one rendering, and later requests get the cached card', async () => {
  const rendered: Card[] = [];
  const readFrom = cardCache(t.app, async (cards) => {
    rendered.push(...cards);
    return cards.map(() => Buffer.from('a picture'));
  });
  const id = await showRound(t.app, DRAWN);
  const all = await Promise.all(Array.from({ length: 50 }, () => readFrom(id)));
  expect(new Set(all).size).toBe(1);
  expect(await readFrom(id)).toBe(all[0]);
  expect(rendered).toHaveLength(1);
});

test('the card of an open round is rendered once for requests within 15 seconds, and 64 cards are kept, those that were requested last', async () => {
  const rendered: string[] = [];
  const readFrom = cardCache(t.app, async (cards) => {
    rendered.push(...cards.map(({ link }) => link));
    return cards.map(() => Buffer.from('a picture'));
  });
  const open = await showRound(t.app, { state: 'active' });
  await readFrom(open);
  await readFrom(open);
  expect(rendered).toHaveLength(1);
  const others = await Promise.all(Array.from({ length: 63 }, () => showRound(t.app, DRAWN)));
  for (const id of others) await readFrom(id);
  await readFrom(open);
  expect(rendered).toHaveLength(64);
  // The 65th card takes the place of the card that was requested first of the others.
  await readFrom(await showRound(t.app, DRAWN));
  for (const id of [open, ...others.slice(1)]) await readFrom(id);
  expect(rendered).toHaveLength(65);
  await readFrom(others[0] ?? '');
  expect(rendered).toHaveLength(66);
  await endActive();
});

test('a round gets a new card when its state changes', async () => {
  const id = await showRound(t.app, { state: 'active' });
  const before = (await cardAt(id)).headers.get('ETag');
  await endActive();
  expect((await cardAt(id)).headers.get('ETag')).not.toBe(before);
});

test('requests above the limit of pending cards are refused with 503 and succeed later', async () => {
  const first = Promise.withResolvers<void>();
  const readFrom = cardCache(t.app, async (cards) => {
    await first.promise;
    return cards.map(() => Buffer.from('a picture'));
  });
  const ids = await Promise.all(Array.from({ length: 80 }, () => showRound(t.app, DRAWN)));
  const asked = ids.map((id) =>
    readFrom(id).then(
      () => 200,
      (error: { status?: number }) => error.status,
    ),
  );
  // Requests above the limit are refused immediately, while the others wait for the first rendering.
  const refused = Promise.race(asked);
  expect(await refused).toBe(503);
  first.resolve();
  const statuses = await Promise.all(asked);
  expect(new Set(statuses)).toEqual(new Set([200, 503]));
  expect((await readFrom(ids[statuses.indexOf(503)] ?? '')).png.toString()).toBe('a picture');
});

test('after a failed rendering the next request renders the card again', async () => {
  let failures = 1;
  const readFrom = cardCache(t.app, async (cards) => {
    if (failures-- > 0) throw new Error('the rendering failed');
    return cards.map(() => Buffer.from('a picture'));
  });
  const id = await showRound(t.app, DRAWN);
  await expect(readFrom(id)).rejects.toThrow('the rendering failed');
  expect((await readFrom(id)).png.toString()).toBe('a picture');
});

test('a round that does not exist has no card', async () => {
  expect((await clientOf(t).call(getCard, { params: { id: randomUUID() } })).status).toBe(404);
});

test('a card shows the numbers, the prize, the winners and the hashes for verification', async () => {
  const card = await modelOf(await showRound(t.app, DRAWN));
  expect(card).toMatchObject({
    balls: ['3', '7', '12', '30', '41'],
    badge: { text: 'DRAWN' },
    isLit: true,
    winners: [{ place: 1, wallet: '9xQe…VFin', prize: '25 USDC' }, { place: 2 }, { prize: '5,000 tokens' }],
    proof: 'Verify: entries root 1a2b3c4d5e6f… · seed 9f8e7d6c5b4a…',
    host: 'coinop.test',
  });
  const open = await modelOf(await showRound(t.app, { state: 'active' }));
  expect([open.isLit, open.balls, open.stats[2]]).toEqual([false, ['?', '?', '?', '?', '?'], { label: 'CLOSES', value: '21 Nov 2026, 12:00 UTC' }]);
  await endActive();
});

test('a title cannot inject markup into the picture', async () => {
  const card = await modelOf(await showRound(t.app, { ...DRAWN, title: `</text><image href="http://evil.example/x.png"/>` }));
  expect(drawCard(card)).not.toContain('<image');
});

test('characters that the font lacks are removed or replaced, and a title without other characters is replaced as a whole', () => {
  expect(drawableText('Friday night')).toBe('Friday night');
  expect(drawableText('Привет, мир № 5')).toBe('Привет, мир № 5');
  expect(drawableText('🎰 Jackpot 夜夜 night 🇩🇪')).toBe('Jackpot • night');
  expect(drawableText('1️⃣ first')).toBe('1 first');
  expect(drawableText('a\u202eb\u200b')).toBe('ab');
  expect(drawableText('夜の抽選')).toBeNull();
  expect(drawableText('🎰🎰')).toBeNull();
});

test('text is shortened by its width and wrapped between words', () => {
  const style = { size: 44, weight: 800 } as const;
  const long = 'The very long Saturday marathon extravaganza draw';
  expect(cut('Short', style, 500)).toBe('Short');
  const head = cut(long, style, 500);
  expect(head).toMatch(/^The very long.*…$/);
  expect(widthOf(head, style)).toBeLessThanOrEqual(500);
  const lines = wrap(long, style, 500, 2);
  expect(lines).toHaveLength(2);
  for (const line of lines) expect(widthOf(line, style)).toBeLessThanOrEqual(500);
  // A line is not broken at a space in its first third, because the line would be too short.
  const atSpace = (text: string) => wrap(text, style, widthOf('abcdefghi…', style) + 4, 2)[0];
  expect(['abc defghijklmno', 'abcd efghijklmno'].map(atSpace)).toEqual(['abc defgh', 'abcd']);
  expect(wrap('W'.repeat(120), style, 500, 2).every((line) => widthOf(line, style) <= 500)).toBe(true);
});

/** Reads the QR code of a card, as a camera does. */
function scan(card: Card): string {
  const { width, height, pixels } = new Resvg(drawCard(card), RENDERING).render();
  return decodeQR({ width, height, data: new Uint8ClampedArray(pixels) });
}

test('the QR code of a card leads to the page that checks the round', async () => {
  const id = await showRound(t.app, DRAWN);
  const round = await readSharedRound(t.app.db, id);
  const publicUrl = new URL('https://arcade.example/');
  const decimals = { reward: 6, usdc: 6 };
  expect(scan(cardOf({ publicUrl, frontendUrl: null, web: true }, round, decimals))).toBe(`https://arcade.example/check/round/${id}`);
});

test('without the arcade page, the QR code of a card leads to the page of the round', async () => {
  const id = await showRound(t.app, { ...DRAWN, title: 'W'.repeat(120) });
  const round = await readSharedRound(t.app.db, id);
  const [publicUrl, frontendUrl] = [new URL('https://arcade.example/'), new URL('https://play.example/app/')];
  const decimals = { reward: 6, usdc: 6 };
  expect(scan(cardOf({ publicUrl, frontendUrl, web: false }, round, decimals))).toBe(`https://play.example/app/share/round/${id}`);
});

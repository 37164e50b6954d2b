import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { buildWeb } from '#packages/web/build.ts';
import { DAY, insertClosedDay, randomWallet } from '#test/support/areas/epochs.ts';
import { startRoundsTest } from '#test/support/areas/rounds.ts';
import { DRAWN, showRound } from '#test/support/areas/social-rounds.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { send, signIn } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  await buildWeb();
  t = await startRoundsTest({ env: { WEB: 'on' } });
}, 60_000);
afterAll(() => t?.close());

/** Opens a page as a browser does. `tags`: the contents of its meta elements by name. */
async function open(path: string) {
  const response = await send(t, path, { headers: { Accept: 'text/html,*/*;q=0.8' } });
  const text = await response.text();
  const tags: Record<string, string | undefined> = Object.fromEntries(
    [...text.matchAll(/<meta (?:property|name)="([^"]+)" content="([^"]*)">/g)].map(([, name, content]) => [name, content]),
  );
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    policy: response.headers.get('content-security-policy') ?? '',
    text,
    tags,
  };
}

test('the check page of a round has the card of the round as its preview', async () => {
  const id = await showRound(t.app, DRAWN);
  const { status, tags, policy, text } = await open(`/check/round/${id}`);
  expect(status).toBe(200);
  expect(tags).toMatchObject({
    'og:title': 'Check Friday night draw · Coinop',
    'og:url': `http://coinop.test/check/round/${id}`,
    'og:image': `http://coinop.test/social/round/${id}/card.png`,
    'twitter:card': 'summary_large_image',
    description: expect.stringContaining('Check it with your own browser.'),
  });
  expect(text).toContain(`<link rel="canonical" href="http://coinop.test/check/round/${id}">`);
  expect(policy).toContain('connect-src');
  expect(policy).toMatch(/connect-src 'self' https: http:\/\/localhost:\*/);
});

test('the title of a round is escaped', async () => {
  const id = await showRound(t.app, { ...DRAWN, title: '"><script>alert(1)</script>' });
  const { text, tags } = await open(`/check/round/${id}`);
  expect(text).not.toContain('<script>');
  expect(tags['og:title']).toContain('&quot;&gt;&lt;script&gt;');
});

test('the pages of a game, of an epoch and of a score have previews of their own', async () => {
  const player = await signIn(t);
  const answer = await player.fetch('/arcade/score', { json: { gameId: 'token-pusher', score: 4_200 } });
  const { scoreId } = (await answer.json()) as { scoreId: string };
  await insertClosedDay(t.app, DAY, [{ wallet: randomWallet(), points: 5 }]);
  await send(t, '/rewards/trigger-epoch', { json: { epoch: DAY }, headers: { Authorization: `Bearer ${t.env.ADMIN_TOKENS}` } });
  const titles = ['/', '/games/block-cascade', `/check/score/${scoreId}`, `/check/epoch/${DAY}`].map(
    async (path) => (await open(path)).tags['og:title'],
  );
  expect(await Promise.all(titles)).toEqual([
    'Coinop',
    'Play Block Cascade · Coinop',
    '4,200 in Token Pusher · Coinop',
    `Check the rewards of ${new Date(DAY * 86_400_000).toISOString().slice(0, 10)} · Coinop`,
  ]);
});

test('a shared page without a card of its own has the picture of the arcade', async () => {
  const { tags } = await open('/games/block-cascade');
  expect(tags).toMatchObject({ 'og:image:type': 'image/png', 'twitter:card': 'summary_large_image' });
  const picture = await send(t, new URL(tags['og:image'] ?? '').pathname);
  expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/png']);
});

test.each([
  '/games/nonsense',
  `/check/round/${randomUUID()}`,
  '/check/round/nonsense',
  `/check/score/${randomUUID()}`,
  '/check/score/%22%3E',
  '/check/epoch/1',
  '/check/epoch/-1',
  '/check/epoch/1e3',
  '/check/epoch/99999999999999999999',
])('%s is a page with status 404 that says so', async (path) => {
  const { status, type, text } = await open(path);
  expect([status, type]).toEqual([404, 'text/html; charset=utf-8']);
  expect(text).toContain('This page does not exist');
  expect(text).not.toContain('undefined');
});

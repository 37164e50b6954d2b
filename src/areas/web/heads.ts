import { findGame, readVisibleScore } from '#areas/arcade';
import { readRoundSummary } from '#areas/lottery';
import { readEpoch } from '#areas/rewards';
import { fail, HttpError } from '#lib/errors.ts';
import { Id } from '#lib/scalars.ts';
import type { App } from '#platform/app.ts';
import type { Head, WebPage } from './pages.ts';

const ABOUT = 'An arcade on Solana: play games whose scores anyone can compute again, earn points, and claim token rewards.';

/** Returns a head whose link preview leads to a page of this service. */
const shared = ({ config }: App, path: string, head: Pick<Head, 'title' | 'description'>): Head => ({
  ...head,
  shared: { url: new URL(path, config.publicUrl).href },
});

function requireId(id: string | undefined, kind: string): string {
  const parsed = Id.safeParse(id);
  if (!parsed.success) throw fail(404, `there is no such ${kind}`);
  return parsed.data;
}

async function gameHead(app: App, id = ''): Promise<Head> {
  const game = await findGame(app, id);
  if (game === null) throw fail(404, 'there is no such game');
  const { name, verification } = game;
  const proven = verification === 'replay' ? ' Everybody can compute its scores again.' : '';
  return shared(app, `/games/${id}`, {
    title: `Play ${name}`,
    description: `${name}: earn points for the leaderboards and the rewards of the day.${proven}`,
  });
}

async function roundHead(app: App, given: string | undefined): Promise<Head> {
  const id = requireId(given, 'round');
  const summary = await readRoundSummary(app, id).catch((error: unknown) => {
    if (error instanceof HttpError && error.status === 503) return null;
    throw error;
  });
  // The decimals of the prizes cannot be read from the chain. A check does not need them.
  if (summary === null) return shared(app, `/check/round/${id}`, { title: 'Check a round', description: 'Check this round with your own browser.' });
  const { title, text, meta } = summary;
  const { url } = shared(app, `/check/round/${id}`, { title, description: text }).shared ?? { url: '' };
  const image = { url: meta.image, type: 'image/png', width: meta.imageWidth, height: meta.imageHeight, alt: meta.imageAlt };
  return { title: `Check ${title}`, description: `${text} Check it with your own browser.`, shared: { url, image } };
}

async function epochHead(app: App, id = ''): Promise<Head> {
  const epoch = /^(?:0|[1-9]\d{0,8})$/.test(id) ? await readEpoch(app.db, Number(id)) : null;
  if (epoch === null) throw fail(404, 'there is no such epoch');
  const day = new Date(Number(id) * 86_400_000).toISOString().slice(0, 10);
  return shared(app, `/check/epoch/${id}`, {
    title: `Check the rewards of ${day}`,
    description: `Compute the token rewards of ${day} again from the published points, and compare them with the chain, with your own browser.`,
  });
}

async function scoreHead(app: App, given: string | undefined): Promise<Head> {
  const id = requireId(given, 'score');
  const score = await readVisibleScore(app.db, id, null);
  if (!score) throw fail(404, 'there is no such score');
  const name = (await findGame(app, score.gameId))?.name ?? score.gameId;
  return shared(app, `/check/score/${id}`, {
    title: `${score.score.toLocaleString('en-US')} in ${name}`,
    description: `A score of ${score.score.toLocaleString('en-US')} in ${name}. Run the game again with the inputs of the player, in your own browser.`,
  });
}

/** Pages with a link preview. */
export const sharedPages: readonly WebPage[] = [
  { path: '/', policy: 'plain', source: 'home/home-page.tsx', head: (app) => shared(app, '/', { title: 'Coinop', description: ABOUT }) },
  { path: '/games/{id}', policy: 'play', source: 'play/play-page.tsx', head: (app, { id }) => gameHead(app, id) },
  { path: '/check/round/{id}', policy: 'check', source: 'check/check-page.tsx', head: (app, { id }) => roundHead(app, id) },
  { path: '/check/epoch/{id}', policy: 'check', source: 'check/check-page.tsx', head: (app, { id }) => epochHead(app, id) },
  { path: '/check/score/{id}', policy: 'check', source: 'check/check-page.tsx', head: (app, { id }) => scoreHead(app, id) },
];

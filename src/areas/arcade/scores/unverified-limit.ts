import { tokenBuckets } from '#lib/token-buckets.ts';
import { type App, perApp } from '#platform/app.ts';
import { tooManyRequests } from '#platform/auth/rate-limit.ts';
import { findGame } from '../games/registry.ts';

const buckets = perApp(({ config: { unverifiedScores } }) =>
  [
    { burst: unverifiedScores.perMinute, windowMs: 60_000, name: 'minute' },
    { burst: unverifiedScores.perDay, windowMs: 86_400_000, name: 'day' },
  ].map((limit) => ({ ...limit, take: tokenBuckets(limit) })),
);

/**
 * Limits the scores of a wallet in games without verification, because nothing else limits the rows that a wallet can write there. Each process counts
 * the scores that it receives, so that the limit costs no request to another server.
 * @throws 429 with `Retry-After` when the wallet sends too many scores
 */
export async function limitUnverifiedScores(app: App, wallet: string, gameId: string): Promise<void> {
  // While PostgreSQL is down, a score is enqueued without the limit, because the worker can record it later.
  const game = await findGame(app, gameId).catch(() => null);
  if (game?.verification !== 'none') return;
  for (const { take, burst, windowMs, name } of app.state(buckets)) {
    const waitMs = take(wallet, performance.now());
    if (waitMs === 0) continue;
    const message = `a wallet may submit at most ${burst} scores per ${name} in games without verification, try again later`;
    throw tooManyRequests(message, { name: `unverified-scores-per-${name}`, quota: burst, windowMs, waitMs });
  }
}

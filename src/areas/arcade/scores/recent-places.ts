import type { Neighbourhood } from '#lib/ranking.ts';
import { perApp } from '#platform/app.ts';

/** Maximum places that a process keeps. The oldest place is removed first. */
const MAX_PLACES = 2_000;

/**
 * The places of wallets right after their scores were recorded, by score id. The worker that records scores reads the places for its replies. When the
 * same worker publishes the events of these scores, a few milliseconds later, it takes the places from here instead of reading them again.
 */
export const recentPlaces = perApp(() => {
  const places = new Map<string, Neighbourhood>();
  return {
    keep(scoreId: string, place: Neighbourhood): void {
      places.set(scoreId, place);
      if (places.size > MAX_PLACES) for (const oldest of places.keys()) return void places.delete(oldest);
    },
    of: (scoreId: string): Neighbourhood | undefined => places.get(scoreId),
  };
});

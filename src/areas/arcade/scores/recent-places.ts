import type { Neighbourhood } from '#lib/ranking.ts';
import { perApp } from '#platform/app.ts';

/** Maximum places that a process keeps. The oldest place is removed first. */
const MAX_PLACES = 2_000;

/**
 * The places of wallets right after their scores were recorded, by score id. The worker that records scores reads the places for its replies. When the
 * same worker publishes the events of these scores, a few milliseconds later, it takes the places from here instead of reading them again. A place is kept as
 * JSON, because the garbage collector moves one text with less work than the twenty objects of a place.
 */
export const recentPlaces = perApp(() => {
  const places = new Map<string, string>();
  return {
    keep(scoreId: string, place: Neighbourhood): void {
      places.set(scoreId, JSON.stringify(place));
      if (places.size > MAX_PLACES) for (const oldest of places.keys()) return void places.delete(oldest);
    },
    /** Returns the place of a score as JSON; undefined when it is not kept. */
    of: (scoreId: string): string | undefined => places.get(scoreId),
  };
});

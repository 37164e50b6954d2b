import { playedAmong } from '#areas/points';
import { referredBefore } from '#areas/referrals';
import { linkedBefore } from '#areas/social';
import type { Queryable } from '#platform/db/sql.ts';
import { SOURCES, type Source } from './schemas.ts';

/** Where a wallet says that a burn came from. */
export interface Named {
  readonly wallet: string;
  readonly named: Source;
  /** The time of the burn's block, ms since 1970. */
  readonly at: number;
}

/** Before a burn: 24 hours, in which a player has played. */
const DAY_MS = 86_400_000;
/** How far the chain's clock may be behind ours: what somebody did right before burning must not seem to come after. */
const SKEW_MS = 30_000;

const holding: Readonly<Record<Source, (db: Queryable, burns: readonly Named[]) => Promise<Set<number>>>> = {
  referral: (db, burns) => referredBefore(db, burns.map(asOf)),
  game: (db, burns) =>
    playedAmong(
      db,
      burns.map(({ wallet, at }) => ({ wallet, since: at - DAY_MS, until: at + SKEW_MS })),
    ),
  social: (db, burns) => linkedBefore(db, burns.map(asOf)),
};
const asOf = ({ wallet, at }: Named) => ({ wallet, at: at + SKEW_MS });

/** Which of some burns had the source that they name: a wallet that was referred, that played in the last 24 hours, or that has linked an account. */
export async function whichHold(db: Queryable, burns: readonly Named[]): Promise<ReadonlySet<Named>> {
  const asked = SOURCES.map(async (source) => {
    const own = burns.filter(({ named }) => named === source);
    if (own.length === 0) return [];
    const places = await holding[source](db, own);
    return own.filter((_, place) => places.has(place));
  });
  return new Set((await Promise.all(asked)).flat());
}

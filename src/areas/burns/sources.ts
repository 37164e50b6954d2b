import { findWalletsThatPlayed } from '#areas/arcade';
import { findWalletsReferredBefore } from '#areas/referrals';
import { findWalletsLinkedBefore } from '#areas/social';
import type { Queryable } from '#platform/db/sql.ts';
import { BURN_SOURCES, type BurnSource } from './schemas.ts';

/** A burn and the source that its memo names. The source may be invalid. */
interface ClaimedBurn {
  readonly wallet: string;
  readonly claimedSource: BurnSource;
  /** The time of the burn's block, ms since 1970. */
  readonly at: number;
}

/** Maximum time between a play and a burn with the source `game`, ms. */
const DAY_MS = 86_400_000;
/**
 * Maximum time by which the chain's clock is behind the service's clock, ms. This time is added to block times, so that an action just before a burn
 * does not seem to be later than the burn.
 */
const SKEW_MS = 30_000;

/** For each source, the function that finds the burns for which the source is valid. The function returns the indexes of these burns. */
const findValid: Readonly<Record<BurnSource, (db: Queryable, burns: readonly ClaimedBurn[]) => Promise<Set<number>>>> = {
  referral: (db, burns) => findWalletsReferredBefore(db, burns.map(atWithSkew)),
  game: (db, burns) =>
    findWalletsThatPlayed(
      db,
      burns.map(({ wallet, at }) => ({ wallet, since: at - DAY_MS, until: at + SKEW_MS })),
    ),
  social: (db, burns) => findWalletsLinkedBefore(db, burns.map(atWithSkew)),
};
const atWithSkew = ({ wallet, at }: ClaimedBurn) => ({ wallet, at: at + SKEW_MS });

/**
 * Selects the burns whose source is valid. At the block time, the wallet must have been referred (source `referral`), have played in the last 24
 * hours (`game`), or have linked an account (`social`).
 */
export async function selectBurnsWithValidSource(db: Queryable, burns: readonly ClaimedBurn[]): Promise<ReadonlySet<ClaimedBurn>> {
  const queries = BURN_SOURCES.map(async (source) => {
    const ofSource = burns.filter(({ claimedSource }) => claimedSource === source);
    if (ofSource.length === 0) return [];
    const indexes = await findValid[source](db, ofSource);
    return ofSource.filter((_, index) => indexes.has(index));
  });
  return new Set((await Promise.all(queries)).flat());
}

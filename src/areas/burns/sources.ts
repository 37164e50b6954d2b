import { findWalletsThatPlayed } from '#areas/points';
import { findWalletsReferredBefore } from '#areas/referrals';
import { findWalletsLinkedBefore } from '#areas/social';
import type { Queryable } from '#platform/db/sql.ts';
import { BURN_SOURCES, type BurnSource } from './schemas.ts';

/** A burn with the source that its memo claims. */
interface ClaimedBurn {
  readonly wallet: string;
  readonly claimedSource: BurnSource;
  /** The time of the burn's block, ms since 1970. */
  readonly at: number;
}

/** Period before a burn in which a wallet must have played, ms. */
const DAY_MS = 86_400_000;
/** Maximum lag of the chain's clock behind ours, ms. It is added to block times, so that an action right before a burn does not seem later. */
const SKEW_MS = 30_000;

/** Per source: finds the burns for which the source is valid. Returns their indexes. */
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
 * Selects the burns whose claimed source is valid at the block time: the wallet was referred (referral), played in the last 24 hours (game),
 * or has linked an account (social).
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

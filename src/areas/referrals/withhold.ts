import type { LedgerEntry, Mode } from '#areas/points';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

/** The shares that a referrer has, and does not have, from the scores of a referred wallet. */
export interface WithheldShares {
  readonly wallet: string;
  readonly referrer: string;
  readonly banned: boolean;
  /** Points that the referrer has: in regular mode, and in beta mode. */
  points: number;
  betaPoints: number;
  /** Points that the referrer does not have because the wallet is banned. */
  withheld: number;
  /** The part of `withheld` that reward epochs count. */
  withheldRewards: number;
  betaWithheld: number;
  /** Number of ledger rows that withheld shares or gave them back. */
  withholdings: number;
  /** Shares of today that reward epochs count, as far as the ledger has them. */
  readonly rewardsToday: number;
}

const lockShares = statement<WithheldShares>(
  'lock_withheld_shares',
  `select r.wallet, r.referrer, p.banned_at is not null as banned, r.points::float8 as points, r.beta_points::float8 as "betaPoints",
     r.withheld::float8 as withheld, r.withheld_rewards::float8 as "withheldRewards", r.beta_withheld::float8 as "betaWithheld", r.withholdings,
     coalesce((select sum(l.points) from ledger l
       where l.wallet = r.referrer and l.at >= to_timestamp($2::int * 86400.0) and l.day = $2::int and l.kind = 'referral' and l.mode = 'regular'
         and l.rewards and l.factors ->> 'referred' = r.wallet), 0)::float8 as "rewardsToday"
   from referrals r join players p on p.wallet = r.wallet where r.wallet = any($1::text[]) order by r.wallet for no key update of r`,
);
const save = statement(
  'save_withheld_shares',
  `update referrals r set withheld = w.withheld, withheld_rewards = w.rewards, beta_withheld = w.beta, withholdings = w.withholdings
   from unnest($1::text[], $2::int8[], $3::int8[], $4::int8[], $5::int[]) as w(wallet, withheld, rewards, beta, withholdings) where r.wallet = w.wallet`,
);

/** Locks the rows of referred wallets, and reads their shares. @param day the UTC day number of the ledger rows that follow */
export const lockWithheldShares = (tx: Tx, wallets: readonly string[], day: number): Promise<WithheldShares[]> =>
  tx.query(lockShares, [wallets, day]);

/** Saves the withheld shares of referred wallets. The caller saves `points` and `betaPoints`. */
export async function saveWithheldShares(tx: Tx, all: readonly WithheldShares[]): Promise<void> {
  if (all.length === 0) return;
  await tx.query(save, [
    all.map(({ wallet }) => wallet),
    all.map(({ withheld }) => withheld),
    all.map(({ withheldRewards }) => withheldRewards),
    all.map(({ betaWithheld }) => betaWithheld),
    all.map(({ withholdings }) => withholdings),
  ]);
}

/** Points that change sides between a referrer and what is withheld from it. Positive: the referrer loses them. */
interface Change {
  readonly mode: Mode;
  readonly rewards: boolean;
  readonly points: number;
}

/**
 * Withholds all shares while the wallet is banned, and gives them back when it is not. Changes `shares`.
 *
 * Reward epochs count the loss of the shares of today only, because the epochs of the earlier days have counted the others. They count the return of
 * the same number of points, so that a ban that ends gives no points to an epoch that another epoch has counted.
 * @param batch shares of today that reward epochs count and that the ledger does not have yet; `points` contains them
 * @returns the ledger entries of the referrer
 */
export function withhold(shares: WithheldShares, batch: number): LedgerEntry[] {
  const { banned, wallet, referrer } = shares;
  const isNew = shares.withheld === 0 && shares.withheldRewards === 0;
  const points = banned ? shares.points : -shares.withheld;
  const today = batch + (isNew ? shares.rewardsToday : 0);
  const rewarded = banned ? Math.max(Math.min(today, Math.max(points, 0)), Math.min(points, 0)) : -shares.withheldRewards;
  const changes: Change[] = [
    { mode: 'regular', rewards: true, points: rewarded },
    { mode: 'regular', rewards: false, points: points - rewarded },
    { mode: 'beta', rewards: false, points: banned ? shares.betaPoints : -shares.betaWithheld },
  ];
  return changes.flatMap(({ mode, rewards, points: change }): LedgerEntry[] => {
    if (change === 0) return [];
    if (mode === 'beta') {
      shares.betaPoints -= change;
      shares.betaWithheld += change;
    } else {
      shares.points -= change;
      shares.withheld += change;
      if (rewards) shares.withheldRewards += change;
    }
    shares.withholdings += 1;
    const cause = { source: 'ban', kind: 'referral', reason: banned ? 'ban' : 'unban', sourceId: `${wallet}:${shares.withholdings}` } as const;
    return [{ ...cause, wallet: referrer, mode, points: -change, rewards, factors: { referred: wallet } }];
  });
}

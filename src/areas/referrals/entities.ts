import { defineEntity } from '@mikro-orm/core';
import { bigint, byteText, checks, index, integer, timestamp, wallet } from '#platform/db/columns.ts';

/** A row is the sum of the points that a referrer got for referred wallets on one day. */
export const ReferralDaysTable = defineEntity({
  name: 'ReferralDays',
  tableName: 'referral_days',
  properties: {
    referrer: wallet().primary(),
    /** UTC day number. */
    day: integer().primary(),
    /** Points that count against the daily cap, in both modes; voided points stay counted. */
    used: integer().default(0),
    /** Regular points, minus the points that were voided on this day. */
    points: bigint().defaultRaw('0'),
  },
  checks: checks('used >= 0'),
});

/** A row is a referral link of a wallet. The service shows the newest link; the codes of older links still work. */
export const ReferralLinksTable = defineEntity({
  name: 'ReferralLinks',
  tableName: 'referral_links',
  properties: {
    wallet: wallet().primary(),
    /** Number of the link among the links of the wallet, in the order of creation, from 1. */
    n: integer().primary(),
    code: byteText(),
    createdAt: timestamp().defaultRaw('app_now()'),
  },
  checks: checks("code ~ '^[0-9A-HJKMNP-TV-Z]{8}$'", 'n >= 1 and n <= 20'),
  uniques: [{ name: 'referral_links_code_key', properties: ['code'] }],
});

/** A row binds a wallet to its referrer. A wallet has at most one row, which is never deleted. */
export const ReferralsTable = defineEntity({
  name: 'Referrals',
  tableName: 'referrals',
  properties: {
    wallet: wallet().primary(),
    referrer: wallet(),
    code: byteText().columnType('text references referral_links (code)'),
    boundAt: timestamp().defaultRaw('app_now()'),
    /** Time from which scores of the wallet earn points for the referrer; null while the wallet has no accepted score in a game that verifies scores. */
    verifiedAt: timestamp().nullable(),
    /** Time of the wallet's last accepted score since `boundAt`. */
    lastScoredAt: timestamp().nullable(),
    /** Regular points that the referrer earned from the wallet's scores, minus voided points: a sum of ledger rows. */
    points: bigint().defaultRaw('0'),
    /** The same sum of beta points. */
    betaPoints: bigint().defaultRaw('0'),
    /** Regular points that are taken from the referrer while the wallet is banned. `points` does not contain them. */
    withheld: bigint().defaultRaw('0'),
    /** The part of `withheld` that reward epochs do not count. */
    withheldRewards: bigint().defaultRaw('0'),
    /** Beta points that are taken from the referrer while the wallet is banned. `betaPoints` does not contain them. */
    betaWithheld: bigint().defaultRaw('0'),
    /** Number of ledger rows that withheld points or gave them back. */
    withholdings: integer().default(0),
  },
  checks: checks('(referrer) <> (wallet)'),
  indexes: [index('create index referrals_referrer on referrals (referrer, bound_at desc, wallet)')],
});

/** Tables of this area. */
export const referralsTables = [ReferralDaysTable, ReferralLinksTable, ReferralsTable] as const;

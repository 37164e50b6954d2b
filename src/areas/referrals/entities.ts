import { defineEntity } from '@mikro-orm/core';
import { bigint, byteText, checks, index, integer, timestamp, wallet } from '#platform/db/columns.ts';

export const ReferralDaysTable = defineEntity({
  name: 'ReferralDays',
  tableName: 'referral_days',
  properties: {
    referrer: wallet().primary(),
    day: integer().primary(),
    used: integer().default(0),
    points: bigint().defaultRaw('0'),
  },
  checks: checks('used >= 0'),
});

export const ReferralLinksTable = defineEntity({
  name: 'ReferralLinks',
  tableName: 'referral_links',
  properties: {
    wallet: wallet().primary(),
    n: integer().primary(),
    code: byteText(),
    createdAt: timestamp().defaultRaw('app_now()'),
  },
  checks: checks("code ~ '^[0-9A-HJKMNP-TV-Z]{8}$'", 'n >= 1 and n <= 20'),
  uniques: [{ name: 'referral_links_code_key', properties: ['code'] }],
});

export const ReferralsTable = defineEntity({
  name: 'Referrals',
  tableName: 'referrals',
  properties: {
    wallet: wallet().primary(),
    referrer: wallet(),
    code: byteText().columnType('text references referral_links (code)'),
    boundAt: timestamp().defaultRaw('app_now()'),
    verifiedAt: timestamp().nullable(),
    lastScoredAt: timestamp().nullable(),
    points: bigint().defaultRaw('0'),
    betaPoints: bigint().defaultRaw('0'),
  },
  checks: checks('(referrer) <> (wallet)'),
  indexes: [index('create index referrals_referrer on referrals (referrer, bound_at desc, wallet)')],
});

/** Tables of this area. */
export const referralsTables = [ReferralDaysTable, ReferralLinksTable, ReferralsTable] as const;

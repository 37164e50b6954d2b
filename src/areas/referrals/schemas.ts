import { z } from 'zod';
import { Count, Day, Instant, Points, Wallet } from '#lib/scalars.ts';
import { readCode } from './codes.ts';

const CODE = '7K3QXM9A';
const code = z.string().meta({
  description: 'Eight digits and capital letters, without I, L, O and U. Input is accepted in any case, with O for 0 and I or L for 1.',
  example: CODE,
});
// Schema of an address in a response: a plain string, because the address was validated before it was stored.
const wallet = (description: string, example = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin') => z.string().meta({ description, example });
const url = z.string().meta({ description: 'URL to share.', example: `https://coinop.example/?ref=${CODE}` });
const count = (description: string, example: number) => Count.meta({ description, example });

export const ReferralLinkView = z.strictObject({ code, url, createdAt: Instant }).meta({ id: 'ReferralLink' });

export const BindRequest = z
  .strictObject({
    code: z
      .string()
      .min(1, 'must not be empty')
      .max(64, 'must be at most 64 characters')
      .refine((text) => readCode(text) !== null, 'must be eight digits and letters')
      .meta({ description: 'Referral code, in any case.' }),
  })
  .meta({ id: 'BindRequest', example: { code: CODE } });

export const ReferralBinding = z
  .strictObject({
    wallet: Wallet.meta({ description: 'The caller.' }),
    referrer: wallet('The wallet that referred the caller.', '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T'),
    code,
    boundAt: Instant,
  })
  .meta({ id: 'ReferralBinding' });

const active =
  'A referred wallet is active when it scored in the last 30 days, after its binding. A score that was voided before it was counted is ignored.';
const verified =
  'A referred wallet is verified while it has an accepted score in a verified game. While it is verified, its scores give points to the referrer.';

export const ReferralSummary = z
  .strictObject({
    referralCount: count('Wallets that the caller referred.', 12),
    verifiedReferrals: count(verified, 7),
    activeReferrals: count(active, 5),
    pointsEarned: count('Regular points earned by referrals, minus voided points.', 1_840),
    betaPointsEarned: count('Beta points earned by referrals, minus voided points.', 0),
    referredBy: wallet('The wallet that referred the caller; null when there is none.').nullable(),
  })
  .meta({ id: 'ReferralSummary' });
export type ReferralSummary = z.infer<typeof ReferralSummary>;

export const ReferralStats = z
  .strictObject({
    links: z
      .array(
        ReferralLinkView.extend({
          bindings: count('Wallets bound by this code.', 9),
          verified: count('Number of these wallets that are verified.', 6),
        }),
      )
      .meta({ description: 'Newest first.' }),
    conversion: z.strictObject({
      bound: count('Bound wallets.', 12),
      verified: count(verified, 7),
      percent: z
        .number()
        .nullable()
        .meta({ description: 'Share of bound wallets that are verified, percent; null when no wallet is bound.', example: 58.33 }),
    }),
    active: z.strictObject({
      last7Days: count('Referred wallets that scored in the last 7 days.', 3),
      last30Days: count('Referred wallets that scored in the last 30 days.', 5),
    }),
    earnings: z.strictObject({
      points: count('Regular points earned by referrals, minus voided points.', 1_840),
      betaPoints: count('Beta points earned by referrals, minus voided points.', 0),
      byDay: z
        .array(
          z.strictObject({
            day: Day,
            points: Points.meta({ description: 'Regular points of the day, minus points voided on it. May be negative.', example: 120 }),
          }),
        )
        .meta({ description: 'The last 30 UTC days, oldest first, today last.' }),
      topWallets: z
        .array(z.strictObject({ wallet: wallet('A referred wallet.'), points: count('Regular points earned by the scores of this wallet.', 640) }))
        .meta({ description: 'The ten wallets with the most points.' }),
    }),
    today: z
      .strictObject({
        cap: count('Maximum points that a referrer may earn by referrals per day, both modes together.', 5_000),
        used: count('Points earned today. A void does not reduce this number.', 120),
        left: count('Remaining points of the cap.', 4_880),
        resetsAt: Instant.meta({ description: 'Time at which the cap starts again: the next UTC midnight.' }),
      })
      .meta({ description: 'The caller’s referral points of this UTC day and their cap.' }),
  })
  .meta({ id: 'ReferralStats' });
export type ReferralStats = z.infer<typeof ReferralStats>;

export const ReferredWallet = z
  .strictObject({
    wallet: wallet('The referred wallet.'),
    boundAt: Instant,
    verifiedAt: Instant.nullable().meta({
      description:
        'Time from which the wallet’s scores give points to the caller; null before the wallet’s first score in a verified game, and after all these scores are voided.',
    }),
    active: z.boolean().meta({ description: active, example: true }),
    points: count('Regular points earned by the scores of this wallet.', 640),
  })
  .meta({ id: 'ReferredWallet' });
export type ReferredWallet = z.infer<typeof ReferredWallet>;

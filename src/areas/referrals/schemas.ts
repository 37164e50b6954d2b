import { z } from 'zod';
import { Count, Day, Instant, Wallet } from '#lib/scalars.ts';

const CODE = '7K3QXM9A';
const code = z
  .string()
  .meta({ description: 'Eight digits and capital letters without I, L, O and U; read in any case, O as 0, I and L as 1.', example: CODE });
// Not checked again on its way out.
const wallet = (description: string, example = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin') => z.string().meta({ description, example });
const url = z.string().meta({ description: 'What to share.', example: `https://coinop.example/?ref=${CODE}` });
const count = (description: string, example: number) => Count.meta({ description, example });

export const ReferralLinkView = z.strictObject({ code, url, createdAt: Instant }).meta({ id: 'ReferralLink' });

export const BindRequest = z
  .strictObject({ code: z.string().min(1, 'must not be empty').max(64, 'must be at most 64 characters').meta({ description: 'In any case.' }) })
  .meta({ id: 'BindRequest', example: { code: CODE } });

export const ReferralBinding = z
  .strictObject({
    wallet: Wallet.meta({ description: 'The caller, from now on referred.' }),
    referrer: wallet('Who referred it.', '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T'),
    code,
    boundAt: Instant,
  })
  .meta({ id: 'ReferralBinding' });

const active = 'An active one scored in the last 30 days, since it was bound; scores that were taken back at once do not count.';
const verified = 'A verified one has a score in a verified game: from that one on its scores earn points for the referrer.';

export const ReferralSummary = z
  .strictObject({
    referralCount: count('Wallets that the caller referred.', 12),
    verifiedReferrals: count(verified, 7),
    activeReferrals: count(active, 5),
    pointsEarned: count('Regular points earned by referrals, less those taken back.', 1_840),
    betaPointsEarned: count('The same in beta mode.', 0),
    referredBy: wallet('Who referred the caller; null for nobody.').nullable(),
  })
  .meta({ id: 'ReferralSummary' });
export type ReferralSummary = z.infer<typeof ReferralSummary>;

export const ReferralStats = z
  .strictObject({
    links: z
      .array(ReferralLinkView.extend({ bindings: count('Wallets bound by this code.', 9), verified: count('Those of them that are verified.', 6) }))
      .meta({ description: 'The newest first.' }),
    conversion: z.strictObject({
      bound: count('Wallets that were bound.', 12),
      verified: count(verified, 7),
      percent: z.number().nullable().meta({ description: 'verified of bound; null while nobody is bound.', example: 58.33 }),
    }),
    active: z.strictObject({
      last7Days: count('Referred wallets that scored in the last 7 days.', 3),
      last30Days: count('Referred wallets that scored in the last 30 days.', 5),
    }),
    earnings: z.strictObject({
      points: count('Regular points earned by referrals, less those taken back.', 1_840),
      betaPoints: count('The same in beta mode.', 0),
      byDay: z
        .array(z.strictObject({ day: Day, points: count('Regular points of the day, less those taken back on it: may be below zero.', 120) }))
        .meta({ description: 'The last 30 UTC days, oldest first, today last.' }),
      topWallets: z
        .array(z.strictObject({ wallet: wallet('A referred wallet.'), points: count('Regular points earned by its scores.', 640) }))
        .meta({ description: 'The ten that earned most.' }),
    }),
    today: z
      .strictObject({
        cap: count('Points that a referrer may earn by referrals a day, both modes together.', 5_000),
        used: count('Earned today. What is taken back stays used.', 120),
        left: count('What is left of the cap.', 4_880),
        resetsAt: Instant.meta({ description: 'The next UTC midnight.' }),
      })
      .meta({ description: 'The cap of this UTC day.' }),
  })
  .meta({ id: 'ReferralStats' });
export type ReferralStats = z.infer<typeof ReferralStats>;

export const ReferredWallet = z
  .strictObject({
    wallet: wallet('The referred wallet.'),
    boundAt: Instant,
    verifiedAt: Instant.nullable().meta({ description: 'Since when its scores earn points; null until its first score in a verified game.' }),
    active: z.boolean().meta({ description: active, example: true }),
    points: count('Regular points earned by its scores.', 640),
  })
  .meta({ id: 'ReferredWallet' });
export type ReferredWallet = z.infer<typeof ReferredWallet>;

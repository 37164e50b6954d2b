import { z } from 'zod';
import { Instant, Points } from '#lib/scalars.ts';
import { event } from '#platform/events/event.ts';

const Address = z.string().min(1).max(64);

export const referralBound = event({
  type: 'referral_bound',
  category: 'gameplay',
  summary: 'A wallet was bound to its referrer. Sent only to these two wallets.',
  payload: z.strictObject({ wallet: Address, referrer: Address, code: z.string().max(16), boundAt: Instant }),
});

export const referralEarned = event({
  type: 'referral_earned',
  category: 'gameplay',
  summary:
    'Scores of referred wallets gave points to their referrer, normally within a second after the scores. `wallets` has the part of each referred wallet. Points are negative when scores were voided. Sent only to the referrer.',
  payload: z.strictObject({
    points: Points,
    betaPoints: Points,
    wallets: z.array(z.strictObject({ wallet: Address, points: Points, betaPoints: Points })).min(1),
  }),
});

export const referralEvents = [referralBound, referralEarned];
